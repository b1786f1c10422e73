import { createKeptValue, createValue, useMedia } from "../value.js";

const isBoolean = (kept: unknown): kept is boolean => typeof kept === "boolean";

/** Says if the rail is open, where the screen has room for it. */
export const railIsOpen = createKeptValue("sluice-rail", true, isBoolean);
/** Says if the inspector is open beside the room. Open on the first visit. */
export const inspectorIsOpen = createKeptValue("sluice-inspector", true, isBoolean);
/** Says if the rail lies over the page, on a small screen. */
export const railDrawerIsOpen = createValue(false);
/** Says if the inspector lies over the page, on a small screen. */
export const inspectorSheetIsOpen = createValue(false);

/** Says if the rail can stand beside the room. */
export function useWideForRail(): boolean {
  return useMedia("(width >= 48rem)");
}

/** Says if the inspector can stand beside the room, too. */
export function useWideForInspector(): boolean {
  return useMedia("(width >= 72rem)");
}

/** Opens or closes the rail, or its drawer on a small screen. */
export function toggleRail(): void {
  const value = matchMedia("(width >= 48rem)").matches ? railIsOpen : railDrawerIsOpen;
  value.set((isOpen) => !isOpen);
}

/** Opens or closes the inspector, or its sheet on a small screen. */
export function toggleInspector(): void {
  const value = matchMedia("(width >= 72rem)").matches ? inspectorIsOpen : inspectorSheetIsOpen;
  value.set((isOpen) => !isOpen);
}

/** The box of the shell that lies over the page. */
export const overlay = createValue<"palette" | "shortcuts" | "readme" | undefined>(undefined);

/** Closes the box. */
export function closeOverlay(): void {
  overlay.set(undefined);
}
