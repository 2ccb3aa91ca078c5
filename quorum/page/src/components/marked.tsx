/** A text with one part marked. */
export function Marked({ text, mark }: { text: string; mark: [number, number] | null | undefined }) {
  if (!mark || mark[0] >= mark[1]) return <>{text}</>;
  return (
    <>
      {text.slice(0, mark[0])}
      <mark>{text.slice(mark[0], mark[1])}</mark>
      {text.slice(mark[1])}
    </>
  );
}
