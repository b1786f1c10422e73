import type { Page } from "./page.js";

/**
 * Runs the code of a server in its process. A process that has ended sees no more of the client, and its response never
 * comes.
 */
export async function handleInProcess(
  process: Page,
  request: Request,
  handle: (request: Request) => Promise<Response>,
): Promise<Response> {
  const hangUp = new AbortController();
  request.signal.addEventListener("abort", () => process.deliver(() => hangUp.abort()));
  // a copy would follow the signal only until a garbage collection
  const own = Object.defineProperty(new Request(request), "signal", { value: hangUp.signal });
  const response = await process.run(() => handle(own));
  if (process.state === "gone") return new Promise(() => {});
  const { status, headers, body } = response;
  return new Response(body && readBody(process, body), { status, headers });
}

/** Reads a body in the process that made it. */
function readBody(process: Page, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = process.run(() => body.getReader());
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await process.run(() => reader.read());
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => process.deliver(() => void reader.cancel(reason).catch(() => {})),
    },
    { highWaterMark: 0 },
  );
}
