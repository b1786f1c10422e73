import { KEY } from "./key.js";

type Answer = (request: Request) => Response | Promise<Response>;

/** The gateway of the Durable Objects under test, which run in the tests' own process. */
export const gateway = {
  /** What the operator has set. */
  key: KEY as string | undefined,
  requests: [] as Request[],
  next: (() => task("QUEUED")) as Answer,
  /** Forgets what was asked, and answers so from now on. */
  answers(next: Answer) {
    gateway.key = KEY;
    gateway.requests.length = 0;
    gateway.next = next;
  },
  answer: async (request: Request): Promise<Response> => {
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
