import type { BoundHost, JSONValue, StoredPart } from "@sluice/worker-proxy/plugin";

/*
 * A host in another process, over HTTP: operations, jobs and sources are found by their names, as in a Durable Object.
 */

interface Body {
  readonly key: string;
  readonly name: string;
  readonly input: JSONValue;
}

interface Reply {
  readonly output?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly reason?: string };
}

/** Serves a host to {@link createRemoteHost}. */
export async function serveHost(
  host: BoundHost,
  parts: readonly StoredPart[],
  request: Request,
): Promise<Response> {
  const { key, name, input } = (await request.json()) as Body;
  try {
    const action = new URL(request.url).pathname;
    if (action === "/open") {
      const source = find(
        parts.flatMap(({ sources = [] }) => sources),
        name,
      );
      const stream = await host.open(key, source as never, input as never);
      return new Response(stream as BodyInit);
    }
    if (action === "/start") {
      await host.start(
        key,
        find(
          parts.flatMap(({ jobs = [] }) => jobs),
          name,
        ) as never,
        input as never,
      );
      return Response.json({ output: null } satisfies Reply);
    }
    const operation = find(
      parts.flatMap(({ operations }) => operations),
      name,
    );
    return Response.json({ output: await host.run(key, operation as never, input as never) } satisfies Reply);
  } catch (thrown) {
    const { name: kind, message, reason } = thrown as Error & { readonly reason?: string };
    return Response.json({ error: { name: kind, message, ...(reason && { reason }) } } satisfies Reply, {
      status: 500,
    });
  }
}

function find<Named extends { readonly name: string }>(all: readonly Named[], name: string): Named {
  const found = all.find((one) => one.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found;
}

/** The host that another process serves. */
export function createRemoteHost(readAddress: () => string): BoundHost {
  return {
    run: async (key, { name }, input) => (await readReply(await send("run", { key, name, input }))) as never,
    async start(key, { name }, input) {
      await readReply(await send("start", { key, name, input }));
    },
    async open(key, { name }, input) {
      const response = await send("open", { key, name, input });
      if (!response.ok || !response.body) throw new Error(JSON.stringify(await readReply(response)));
      return response.body;
    },
  };

  function send(action: string, body: Body): Promise<Response> {
    return fetch(`${readAddress()}/${action}`, { method: "POST", body: JSON.stringify(body) });
  }
}

async function readReply(response: Response): Promise<unknown> {
  const { output, error } = (await response.json()) as Reply;
  if (error) throw Object.assign(new Error(error.message), error);
  return output;
}
