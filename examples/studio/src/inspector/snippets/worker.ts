import type { Work } from "../inspected.js";
import { importOf, literal } from "./literal.js";

const PROXY = "@sluice/worker-proxy";

const durable = {
  chat: {
    binding: "STREAM_LOG",
    names: ["streamLog", "streamLogObject"],
    object: "export const StreamLog = streamLogObject<Env>(options);",
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
export function workerOf(work: Work): string {
  const extra = work.room === "chat" || work.room === "videos" ? durable[work.room] : undefined;
  const model = work.room === "chat" ? work.target.model : work.request.model;
  const models =
    work.room === "assets" ? { [model]: { GroupId: [work.request.GroupId || "studio"] } } : [model];
  const imports = extra
    ? `${importOf(["createProxy", "type ProxyOptions"], PROXY)}
${importOf(["type ObjectNamespace", ...extra.names], `${PROXY}/durable`)}`
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
