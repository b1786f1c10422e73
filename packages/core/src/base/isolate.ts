/**
 * Calls a function of the app. An error that it throws becomes an uncaught error, as an event listener's does, and the
 * caller goes on.
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
