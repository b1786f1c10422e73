type Respond = (request: Request) => Response | Promise<Response>;

/** The gateway of the Durable Objects under test, which run in the tests' own process. */
export const gateway = {
  requests: [] as Request[],
  next: (() => task("QUEUED")) as Respond,
  /** Clears the requests and sets how the gateway responds from now on. */
  respondWith(next: Respond) {
    gateway.requests.length = 0;
    gateway.next = next;
  },
  respond: async (request: Request): Promise<Response> => {
    gateway.requests.push(request);
    return gateway.next(request);
  },
};

/** A task in the gateway's envelope. */
export function task(status: string, more: object = {}): Response {
  return Response.json({ code: "success", message: "", data: { task_id: "t-1", status, ...more } });
}

/** A refusal in the gateway's words. */
export function refusal(status: number, headers: Record<string, string> = {}, message = "no"): Response {
  return Response.json({ error: { message, code: "x" } }, { status, headers });
}
