/** The steps of a cascade such as concat>sure[k=3]; a method is one step. */
export const stepsOf = (method: string): string[] => method.split(/\s*>\s*(?![^[\]]*\])/);
/** A method's name without the settings in its brackets. A cascade has none of its own: its steps have them. */
export const nameOf = (method: string): string => (stepsOf(method).length > 1 ? method : method.replace(/\[.*/s, ""));
