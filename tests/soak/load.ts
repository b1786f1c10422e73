import { createClient, createVideoTask, streamChat, watchVideoTask } from "@sluice/core";
import { type ChatState, type ChatStorage, type ChatStore, createChatStore } from "@sluice/stores";

/** Number of everything that was done so far. */
export interface Done {
  chats: number;
  stops: number;
  reconnects: number;
  tasks: number;
}

/** Use of a gateway, as an app uses it for months. */
export interface Load {
  /** Chats, stops, loses a connection and makes a video, each once. Throws if one of them ends in another way than expected. */
  round(): Promise<void>;
  readonly done: Done;
  /** A signal that aborts when the page closes. */
  readonly signal: AbortSignal;
}

const MODEL = "delta-5.3";

/** Opens the load of one process or page. */
export function openLoad(baseURL: string, user: string, storage: ChatStorage): Load {
  const page = new AbortController();
  const { signal } = page;
  const done: Done = { chats: 0, stops: 0, reconnects: 0, tasks: 0 };
  const options = { baseURL, headers: { authorization: `Bearer ${user}` }, onEvent: () => {} };
  const client = createClient(options);
  const cutting = createClient({ ...options, fetch: cutOnce });
  const question = (content: string) => ({ model: MODEL, messages: [{ role: "user", content }] }) as const;
  /** Ids of conversations that no store has open: they are used again and again. */
  const free: string[] = [];
  let ids = 0;

  return {
    done,
    signal,
    async round() {
      await Promise.all([conversation(), leaving(), reconnect(), task()]);
    },
  };

  async function conversation(): Promise<void> {
    const id = free.pop() ?? `soak-${ids++}`;
    const chat = createChatStore(client, { id, model: MODEL, storage });
    const leave = chat.subscribe(() => {});
    expectOutcome((await chat.send("Hello")).outcome, "complete");
    done.chats += 1;
    const stopped = chat.send("[[stall]] Tell me a long story");
    await until(chat, ({ messages }) => Boolean(messages.at(-1)?.content) && messages.length > 3);
    chat.stop();
    expectOutcome((await stopped).outcome, "stopped");
    done.stops += 1;
    chat.reset();
    leave();
    chat.close();
    free.push(id);
  }

  /** Leaves a stream in its middle, on the signal of the page. */
  async function leaving(): Promise<void> {
    for await (const _ of streamChat(client, question("[[stall]] A story"), { signal })) break;
    done.stops += 1;
  }

  /** Loses the connection in the middle of a response, and reads on. */
  async function reconnect(): Promise<void> {
    const stream = streamChat(cutting, question("Hello"), { signal });
    expectOutcome((await stream.result()).outcome, "complete");
    done.reconnects += 1;
  }

  async function task(): Promise<void> {
    const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
    const handle = await createVideoTask(client, request, { signal });
    await watchVideoTask(client, handle, { signal, intervalMs: 500 }).result();
    done.tasks += 1;
  }
}

/** Cuts the response to a question after its first bytes. Later responses are read completely. */
async function cutOnce(request: Request): Promise<Response> {
  const response = await fetch(request);
  if (request.method !== "POST" || !response.ok || !response.body) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await reader.read();
        if (value) controller.enqueue(value);
        await reader.cancel();
        controller.error(new TypeError("network error"));
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}

function until(chat: ChatStore, isReached: (state: ChatState) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isReached(chat.getSnapshot())) return;
      leave();
      resolve();
    };
    const leave = chat.subscribe(check);
    check();
  });
}

function expectOutcome(outcome: string | undefined, expected: string): void {
  if (outcome !== expected) throw new Error(`the outcome is ${outcome}, and has to be ${expected}`);
}
