/**
 * Calls a function of the app. If it throws, the error is reported as uncaught, as with an event listener, and the
 * caller continues.
 */
export function isolate(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
