import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { openDialog, type DialogName } from "../state";
import { Notice } from "./notices";

/** A dialog that takes the focus, keeps it, and gives it back when it closes (Esc, or a click beside it). */
export function Dialog({ name, title, children }: { name: DialogName; title: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  const isOpen = openDialog.value === name;
  useEffect(() => {
    if (isOpen) element.current?.showModal();
  }, [isOpen]);
  if (!isOpen) return null;
  const close = () => {
    openDialog.value = "";
  };
  return (
    <dialog ref={element} class={`dialog ${name}`} aria-label={title} onClose={close} onCancel={close} onClick={(event) => event.target === element.current && close()}>
      <header>
        <h2>{title}</h2>
        <button aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      <Notice />
      {children}
    </dialog>
  );
}
