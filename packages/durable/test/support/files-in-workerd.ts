import { bundle } from "../../../worker-proxy/test/support/bundle.js";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import { startMiniflare } from "../../../worker-proxy/test/support/miniflare.js";
import { startUpstream } from "../../../worker-proxy/test/support/upstream.js";

interface Given {
  /** The address of the gateway. @default an upstream that a test controls */
  readonly gateway?: string;
  /** The Worker, with the class `Sluice`. */
  readonly fixture?: string;
  /** Further bindings of the Worker. */
  readonly bindings?: Readonly<Record<string, string>>;
}

interface RequestFields extends Omit<RequestInit, "headers"> {
  readonly user?: string;
  readonly headers?: Record<string, string>;
}

/** Starts a proxy with files in a real workerd, between real sockets, over miniflare's R2. */
export async function startFilesInWorkerd({
  gateway,
  fixture = "durable/test/fixture/files-worker.ts",
  bindings = {},
}: Given = {}) {
  const upstream = await startUpstream();
  const name = "worker";
  const miniflare = startMiniflare({
    handleStructuredLogs: () => {},
    workers: [
      {
        name,
        modules: [{ type: "ESModule", path: "worker.js", contents: await bundle(fixture) }],
        compatibilityDate: "2026-10-01",
        compatibilityFlags: ["enable_request_signal"],
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
        bindings: { UPSTREAM: gateway ?? upstream.url, GATEWAY_API_KEY: KEY, ...bindings },
        r2Buckets: { MEDIA: "media" },
        durableObjects: { SLUICE: { className: "Sluice", useSQLite: true } },
      },
    ],
  });
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL(name);
  /** Sends a request of a user. @default `user-1` */
  const request = (path: string, { user = "user-1", headers, ...init }: RequestFields = {}) =>
    fetch(new URL(path, url), { ...init, headers: { authorization: user, ...headers } });

  return {
    url,
    upstream,
    request,
    /** Sends bytes as a file, or as a part. */
    upload: (
      body: Blob | Uint8Array<ArrayBuffer>,
      { headers, ...fields }: RequestFields = {},
      path = "/v1/uploads",
    ) =>
      request(path, {
        method: "POST",
        body,
        ...fields,
        headers: { "content-type": "application/octet-stream", ...headers },
      }),
    /** Moves the clock of the Worker. */
    pass: (ms: number) => request(`/tests/clock?ms=${ms}`),
    /** The names of all files in the bucket. */
    async keys() {
      const { objects } = await (await miniflare.getR2Bucket("MEDIA", name)).list();
      return objects.map(({ key }) => key);
    },
    async close() {
      await miniflare.dispose();
      upstream.close();
    },
  };
}
