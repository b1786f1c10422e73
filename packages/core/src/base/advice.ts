declare const process: { readonly env: { readonly NODE_ENV?: string } };

/**
 * Adds advice for developers to an error. Does nothing in production, where bundlers drop the call with its text. A page
 * without a bundler lacks `process` and gets no advice.
 */
export function addAdvice(error: { message: string }, advice: string): void {
  try {
    if (process.env.NODE_ENV !== "production") error.message += advice;
  } catch {}
}
