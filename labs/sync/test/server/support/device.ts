import { onTestFinished } from "vitest";

/** A record of a pull. */
export interface Change {
  readonly record: string;
  readonly version: number;
  readonly value: unknown;
}

/** The JSON of a response, with its status and its account. */
export type JSONResponse<Body = Record<string, unknown>> = Body & {
  readonly status: number;
  readonly account: string | null;
  readonly error?: { readonly code: string; readonly message: string };
};

export type Pulled = JSONResponse<{
  readonly changes: readonly Change[];
  readonly cursor: string;
  readonly hasMore: boolean;
}>;

export type Pushed = JSONResponse<{
  readonly results: readonly {
    readonly record: string;
    readonly status: string;
    readonly version: number;
    readonly value?: unknown;
    readonly code?: string;
  }[];
  readonly cursor: string | null;
}>;

export type TurnResponse = JSONResponse<{
  readonly state: string;
  readonly code?: string;
  readonly message?: string;
  readonly calls?: readonly { readonly record: string; readonly call: string; readonly name: string }[];
  readonly decided?: object;
}>;

export interface EventData {
  readonly cursor: string | null;
  readonly changes: readonly { readonly collection: string; readonly version: number }[];
}

/** A change of a push: `base` is 0 by default. */
export type ChangeInput = { readonly record: string; readonly base?: number; readonly value: unknown };

export type Device = ReturnType<typeof createDevice>;

/** A device of a user. */
export function createDevice(fetch: (request: Request) => Promise<Response>, user: string) {
  let account: string | undefined;
  return {
    fetch: send,
    request,
    pull: (collection: string, cursor: string | null = null) =>
      request<Pulled>("pull", { collection, cursor }),
    push: async (collection: string, cursor: string | null, changes: readonly ChangeInput[]) =>
      request<Pushed>("push", {
        collection,
        cursor,
        changes: changes.map((change) => ({ base: 0, ...change })),
      }),
    turn: (action: string, body: object) => request<TurnResponse>(`turns/${action}`, body),
    events,
    search: (text: string, more: object = {}) =>
      request<JSONResponse<{ hits: readonly Record<string, string>[]; after: string | null }>>("search", {
        text,
        ...more,
      }),
    readAll,
  };

  /** Opens the events. Returns a function that reads the next one, and one that ends them. */
  async function events(since?: string) {
    await learnAccount();
    const response = await send(`events${since === undefined ? "" : `?since=${since}`}`);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (!response.ok || !reader) throw new Error(`events: ${response.status}`);
    let text = "";
    const next = async (): Promise<{ name: string; data: EventData } | undefined> => {
      for (;;) {
        const [, block] = /^([\s\S]*?)\n\n/.exec(text) ?? [];
        if (block !== undefined) {
          text = text.slice(block.length + 2);
          const [, name = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
          if (name !== "") return { name, data: JSON.parse(data) };
          continue;
        }
        const { done, value } = await reader.read();
        if (done) return undefined;
        text += value;
      }
    };
    const end = () => reader.cancel();
    onTestFinished(end);
    return { next, end };
  }

  async function send(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(
      new Request(`https://proxy.example/v1/sync/${path}`, {
        ...init,
        headers: {
          authorization: user,
          ...(account && { "x-sluice-account": account }),
          ...(init.headers as Record<string, string>),
        },
      }),
    );
  }

  async function request<Body = JSONResponse>(
    path: string,
    body: object,
    headers: object = {},
  ): Promise<Body> {
    if (path !== "pull") await learnAccount();
    const response = await send(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const json = (await response.json()) as object;
    const named = response.headers.get("x-sluice-account");
    if (response.ok) account ??= named ?? undefined;
    return { status: response.status, account: named, ...json } as Body;
  }

  /** The first request of a device is a pull: it needs no account, and its response names the account. */
  async function learnAccount(): Promise<void> {
    if (account === undefined) await request("pull", { collection: "list", cursor: null });
  }

  /** Pulls a collection from the start, to its end. */
  async function readAll(collection: string): Promise<Record<string, unknown>> {
    const records = new Map<string, unknown>();
    for (let cursor: string | null = null; ; ) {
      const page: Pulled = await request<Pulled>("pull", { collection, cursor });
      for (const { record, value } of page.changes) records.set(record, value);
      if (!page.hasMore) break;
      cursor = page.cursor;
    }
    return Object.fromEntries([...records].filter(([, value]) => value !== null));
  }
}
