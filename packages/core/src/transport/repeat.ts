import ky from "ky";

/** A request that is sent until it succeeds, or may not be repeated. */
export interface Repetition {
  /** Number of attempts at most. */
  readonly times: number;
  /** Sends the request once; rejects if it failed. */
  readonly attempt: (request: Request) => Promise<Response>;
  /** Waits until the next attempt. Resolves to false if there is none. */
  readonly isRepeated: (error: Error) => Promise<boolean>;
}

/** Repeats a request, each time with a new body. The caller decides the waits between the attempts. */
export async function repeat(
  address: string,
  { method = "get", ...init }: RequestInit,
  { times, attempt, isRepeated }: Repetition,
): Promise<Response> {
  return ky(address, {
    ...init,
    method,
    timeout: false,
    throwHttpErrors: false,
    fetch: (request) => attempt(request as Request),
    retry: {
      limit: times - 1,
      methods: [method],
      delay: () => 0,
      shouldRetry: ({ error }) => isRepeated(error),
    },
  });
}
