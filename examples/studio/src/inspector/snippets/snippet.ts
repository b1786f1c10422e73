import type { Work } from "../feed.js";
import { type ChatWork, chatRequestOf, importOf, json, literal, type Server, targetsOf } from "./parts.js";
import { reactOf } from "./react.js";

/** A place where code of Sluice runs; or curl, which has no Sluice. */
export type Target = "react" | "script" | "worker" | "curl";

const writers: Readonly<Record<Target, (work: Work, server: Server) => string>> = {
  react: reactOf,
  script: scriptOf,
  worker: workerOf,
  curl: curlOf,
};

/** Writes the work of a room as code that sends it to a server. */
export function snippet(work: Work, target: Target, server: Server): string {
  return writers[target](work, server);
}

/** Writes a script for Node, Deno or Bun. */
function scriptOf(work: Work, { code, needsKey }: Server): string {
  const { names, body } = bodyOf(work);
  const lookup = `  // the emulator's own path; yours may differ
  gateway: { assetLookup: "/gamma/asset/GetAsset" },
`;
  const comment = needsKey ? "" : "// this proxy adds the key; for a gateway, add apiKey\n";
  const key = "  apiKey: process.env.GATEWAY_API_KEY,\n";
  return `${importOf(["createClient", ...names].sort(), "@sluice/core")}

${comment}const client = createClient({
  baseURL: ${code},
${needsKey ? key : ""}${work.room === "assets" ? lookup : ""}});

${body}`;
}

function bodyOf(work: Work): { readonly names: readonly string[]; readonly body: string } {
  switch (work.room) {
    case "chat":
      return { names: ["streamChat"], body: chatBodyOf(work) };
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
        names: ["createVideoTask", "watchVideoTask"],
        body: `${call("const task = await createVideoTask(client, ", work.request)}
console.log("Keep this:", JSON.stringify(task));

const { url } = await watchVideoTask(client, task).result();
console.log(url);
`,
      };
    case "assets":
      return {
        names: ["createAsset", "watchAsset"],
        body: `${call("const asset = await createAsset(client, ", work.request)}
const { uri } = await watchAsset(client, asset).result();
console.log(uri);
`,
      };
  }
}

function chatBodyOf(work: ChatWork): string {
  const requests = targetsOf(work).map((target) => chatRequestOf(work, target));
  const [request, ...rest] = requests;
  const print = `for await (const delta of stream)
  if (delta.type === "text-delta")
    process.stdout.write(delta.text);

const { outcome, usage } = await stream.result();
console.log("\\n" + outcome, usage);
`;
  if (request && rest.length === 0)
    return `${call("const stream = streamChat(client, ", request)}
${print}`;
  const streams = requests.map((it) => `  streamChat(client, ${literal(it, 1, "streamChat(client, ")}),\n`);
  return `// both answer at once
const streams = [
${streams.join("")}];
for (const stream of streams) {
  ${print.trimEnd().replace(/\n(?=.)/g, "\n  ")}
}
`;
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

/** Writes the request as a curl command; of two models that are compared, as two. */
function curlOf(work: Work, { shell, needsKey }: Server): string {
  const bodies =
    work.room === "chat"
      ? targetsOf(work).map((target) => ({ ...chatRequestOf(work, target), stream: true }))
      : [work.request];
  const key = needsKey ? `  -H "authorization: Bearer $GATEWAY_API_KEY" \\\n` : "";
  return bodies
    .map((body) => {
      // a quote in a quoted word of the shell: close, escape, open
      const quoted = json(body).replaceAll("'", "'\\''");
      return `curl ${work.room === "chat" ? "-N " : ""}${shell}${paths[work.room]} \\
${key}  -H 'content-type: application/json' \\
  -d '${quoted}'
`;
    })
    .join("\n");
}

const PROXY = "@sluice/worker-proxy";

/** Plugins of the Workers that have one. They store data in a Durable Object of each user. */
export const stored = {
  chat: {
    plugin: "resumableStreams",
    note: "// stores each response, so that a reload reads on",
  },
  videos: {
    plugin: "videoWatch",
    note: "// polls each task once for all tabs",
  },
};

/** Writes the Worker that adds the key to the requests of a room. */
function workerOf(work: Work): string {
  const extra = work.room === "chat" || work.room === "videos" ? stored[work.room] : undefined;
  const models = modelsOf(work);
  const imports = extra
    ? `${importOf([extra.plugin], "@sluice/durable")}
${importOf(["cloudflareHost", "type DurableObjectNamespace", "durableObject"], "@sluice/durable/cloudflare")}
${importOf(["createProxy"], PROXY)}`
    : importOf(["createProxy"], PROXY);
  const host = extra
    ? `  host: cloudflareHost((env) => env.SLUICE),
  ${extra.note}
  plugins: [${extra.plugin}()],
`
    : "";
  const proxy = `createProxy<Env>({
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: (env) => env.GATEWAY_API_KEY,
  authenticate: "public", // your sign-in check
  origins: ["https://app.example.com"],
  routes: [${JSON.stringify(work.room)}],
  models: ${literal(models, 1)},
${
  work.room === "assets"
    ? `  gateway: { assetLookup: "/gamma/asset/GetAsset" },
`
    : ""
}${host}});
`;
  return `${imports}

interface Env {
  GATEWAY_URL: string;
  GATEWAY_API_KEY: string;
${extra ? "  SLUICE: DurableObjectNamespace;\n" : ""}}

${
  extra
    ? `const proxy = ${proxy}
export const Sluice = durableObject(proxy);
export default proxy;
`
    : `export default ${proxy}`
}`;
}

/** The models that the proxy lets through; of assets, also their group. */
function modelsOf(work: Work): object {
  switch (work.room) {
    case "chat":
      return targetsOf(work).map(({ model }) => model);
    case "assets":
      return { [work.request.model]: { GroupId: [work.request.GroupId || "studio"] } };
    default:
      return [work.request.model];
  }
}
