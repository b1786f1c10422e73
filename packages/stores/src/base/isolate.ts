/** Calls a function of the app. Reports its error as uncaught, as the platform does for event listeners, and continues. */
export function isolate(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
