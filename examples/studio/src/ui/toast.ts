/** Options of a toast. */
export interface ToastOptions {
  /** Called by a press on "Undo". */
  readonly onUndo?: () => void;
  /** Milliseconds until it goes. @default 6000, and 10000 with "Undo" */
  readonly timeout?: number;
}

/** Shows a short message at the bottom of the page, with "Undo" where there is a way back. */
export function toast(title: string, options: ToastOptions = {}): void {
  void import("./popups/toasts.js").then(({ showToast }) => showToast(title, options));
}
