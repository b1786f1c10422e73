/**
 * Calls a function of the app. Reports its error as uncaught, as the platform does for event listeners, and continues.
 *
 * @example
 * ```ts
 * isolate(() => show("an error of this function changes nothing else"));
 * ```
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
