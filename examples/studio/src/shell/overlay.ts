import { createValue } from "../value.js";

/** The box of the shell that lies over the page. */
export const overlay = createValue<"palette" | "shortcuts" | "readme" | undefined>(undefined);

/** Closes the box. */
export function closeOverlay(): void {
  overlay.set(undefined);
}
