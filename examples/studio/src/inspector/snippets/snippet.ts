import type { Work } from "../feed.js";
import { chatRequestOf, importOf, json, literal } from "./parts.js";
import { reactOf } from "./react.js";

/** A place where code of Sluice runs; or curl, which has no Sluice. */
export type Target = "react" | "script" | "worker" | "curl";

const writers: Readonly<Record<Target, (work: Work, baseURL: string) => string>> = {
  react: reactOf,
  script: scriptOf,
  worker: workerOf,
  curl: curlOf,
};

/** Writes the work of a room as code that runs as it stands, against the proxy at `baseURL`. */
export function snippet(work: Work, target: Target, baseURL: string): string {
  return writers[target](work, baseURL);
}

/** Writes a script for Node, Deno or Bun. */
function scriptOf(work: Work, baseURL: string): string {
  const { names, body } = bodyOf(work);
  const lookup = `  // the emulator's own path; yours may differ
  assetLookup: (id, request) =>
    request("/gamma/asset/GetAsset", { Id: id }),
`;
  return `${importOf(["createClient", ...names].sort(), "@sluice/core")}

// this proxy adds the key; for a gateway, add apiKey
const client = createClient({
  baseURL: ${JSON.stringify(baseURL)},
${work.room === "assets" ? lookup : ""}});

${body}`;
}

function bodyOf(work: Work): { readonly names: readonly string[]; readonly body: string } {
  switch (work.room) {
    case "chat":
      return {
        names: ["streamChat"],
        body: `${call("const stream = streamChat(client, ", chatRequestOf(work))}
for await (const delta of stream)
  if (delta.type === "text-delta")
    process.stdout.write(delta.text);

const { outcome, usage } = await stream.result();
console.log("\\n" + outcome, usage);
`,
      };
    case "images":
      return {
        names: ["generateImages"],
        body: `${call("const { images } = await generateImages(client, ", work.request)}
for (const { url, error } of images)
  console.log(url ?? error.message);
`,
      };
    case "videos":
      return {
        names: ["createVideoTask", "waitForVideoTask"],
        body: `${call("const task = await createVideoTask(client, ", work.request)}
console.log("Keep this:", JSON.stringify(task));

const { url } = await waitForVideoTask(client, task);
console.log(url);
`,
      };
    case "assets":
      return {
        names: ["createAsset", "waitForAsset"],
        body: `${call("const asset = await createAsset(client, ", work.request)}
const { uri } = await waitForAsset(client, asset);
console.log(uri);
`,
      };
  }
}

/** Writes the call of a function with a request. */
function call(before: string, request: object): string {
  return `${before}${literal(request, 0, before)});`;
}

const paths = {
  chat: "/v1/chat/completions",
  images: "/v1/images/generations",
  videos: "/v1/video/generations",
  assets: "/gamma/asset/CreateAsset",
};

/** Writes the request as a curl command. */
function curlOf(work: Work, baseURL: string): string {
  const body = work.room === "chat" ? { ...chatRequestOf(work), stream: true } : work.request;
  // a quote in a quoted word of the shell: close, escape, open
  const quoted = json(body).replaceAll("'", "'\\''");
  return `curl ${work.room === "chat" ? "-N " : ""}${baseURL}${paths[work.room]} \\
  -H 'content-type: application/json' \\
  -d '${quoted}'
`;
}

const PROXY = "@sluice/worker-proxy";

const durable = {
  chat: {
    binding: "STREAM_LOG",
    names: ["streamLog", "streamLogObject"],
    object:
      "export const StreamLog =\n  streamLogObject<Env>({\n    ...options,\n    namespace: (env) => env.STREAM_LOG,\n  });",
    note: "// keeps each answer, so that a reload reads on",
    extension: "streamLog((env) => env.STREAM_LOG)",
  },
  videos: {
    binding: "VIDEO_WATCH",
    names: ["videoEvents", "videoWatch"],
    object: "export const VideoWatch = videoWatch<Env>(options);",
    note: "// polls each task once for all tabs",
    extension: "videoEvents((env) => env.VIDEO_WATCH)",
  },
};

/** Writes the Worker that adds the key to the requests of a room. */
function workerOf(work: Work): string {
  const extra = work.room === "chat" || work.room === "videos" ? durable[work.room] : undefined;
  const model = work.room === "chat" ? work.target.model : work.request.model;
  const models =
    work.room === "assets" ? { [model]: { GroupId: [work.request.GroupId || "studio"] } } : [model];
  const imports = extra
    ? `${importOf(["type ObjectNamespace", ...extra.names], "@sluice/durable")}
${importOf(["createProxy", "type ProxyOptions"], PROXY)}`
    : importOf(["createProxy"], PROXY);
  const options = `  baseURL: "https://gateway.example.com",
  apiKey: (env${extra ? ": Env" : ""}) => env.GATEWAY_API_KEY,
  authenticate: "public", // your sign-in check
  origins: ["https://app.example.com"],
  routes: [${JSON.stringify(work.room)}],
  models: ${literal(models, 1)},
${work.room === "assets" ? `  assetLookup: "/gamma/asset/GetAsset",\n` : ""}`;
  const proxy = extra
    ? `const options = {
${options}} satisfies ProxyOptions<Env>;

${extra.note}
${extra.object}

export default createProxy<Env>({
  ...options,
  extensions: [${extra.extension}],
});
`
    : `export default createProxy<Env>({
${options}});
`;
  return `${imports}

interface Env {
  GATEWAY_API_KEY: string;
${extra ? `  ${extra.binding}: ObjectNamespace;\n` : ""}}

${proxy}`;
}
