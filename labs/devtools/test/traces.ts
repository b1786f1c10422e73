/** Texts of the panel, its faults and its styles, and parts of React that the rest of the page does not need. */
export const traces: readonly string[] = [
  "Sluice Devtools",
  "Lost response",
  "sluice-devtools",
  "createPortal",
  "useSyncExternalStore",
];
