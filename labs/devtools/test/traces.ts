/** Texts of the panel, of its faults and of its styles, and parts of React that nothing else of the page needs. */
export const traces: readonly string[] = [
  "Sluice Devtools",
  "Lost response",
  "sluice-devtools",
  "createPortal",
  "useSyncExternalStore",
];
