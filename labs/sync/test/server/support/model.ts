/** A request to the model, and the functions that write its response. */
export interface ModelRequest {
  readonly body: { readonly messages: readonly { readonly role: string; readonly content: string }[] };
  /** Sends a part of the text. */
  text(content: string): void;
  /** Ends the response with calls of tools. */
  call(...calls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[]): void;
  /** Ends the response, after a text. */
  end(content?: string): void;
  readonly signal: AbortSignal;
}

/** A gateway whose responses a test writes as they are requested. */
export function createModel() {
  const requests: ModelRequest[] = [];
  const waiting: ((request: ModelRequest) => void)[] = [];
  const texts: string[] = [];
  /** Number of requests that `next` has returned. */
  let returned = 0;
  return {
    /** Responds to the next request with a text. A test can't write to a stream of a Durable Object itself. */
    respond: (text: string) => void texts.push(text),
    /** The number of requests so far. */
    get count() {
      return requests.length;
    },
    async gateway(request: Request): Promise<Response> {
      const body = (await request.json()) as ModelRequest["body"];
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, undefined, {
        highWaterMark: 1_000,
      });
      const writer = writable.getWriter();
      const send = (choice: object) => {
        writer.write(encode({ choices: [{ index: 0, ...choice }] })).catch(() => {});
      };
      const finish = (reason: string) => {
        send({ delta: {}, finish_reason: reason });
        writer.write(new TextEncoder().encode("data: [DONE]\n\n")).catch(() => {});
        writer.close().catch(() => {});
      };
      const model: ModelRequest = {
        body,
        signal: request.signal,
        text: (content) => send({ delta: { content } }),
        call(...calls) {
          const toolCalls = calls.map((call, index) => ({
            index,
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: JSON.stringify(call.arguments) },
          }));
          send({ delta: { tool_calls: toolCalls } });
          finish("tool_calls");
        },
        end(content) {
          if (content !== undefined) send({ delta: { content } });
          finish("stop");
        },
      };
      requests.push(model);
      waiting.shift()?.(model);
      const text = texts.shift();
      if (text !== undefined) model.end(text);
      return new Response(readable, { headers: { "content-type": "text/event-stream" } });
    },
    /** Returns the next request that no call has returned yet. */
    async next(): Promise<ModelRequest> {
      const known = requests[returned];
      returned += 1;
      return known ?? (await new Promise((resolve) => waiting.push(resolve)));
    },
  };
}

function encode(data: object): Uint8Array {
  return new TextEncoder().encode(`data: ${JSON.stringify(data)}\n\n`);
}
