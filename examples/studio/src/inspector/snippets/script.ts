import type { Work } from "../inspected.js";
import { chatRequestOf } from "./chat-body.js";
import { importOf, json, literal } from "./literal.js";

/** Writes a script for Node, Deno or Bun. */
export function scriptOf(work: Work, baseURL: string): string {
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
        body: `const stream = streamChat(client, ${literal(chatRequestOf(work))});
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
        body: `const { images } = await generateImages(client, ${literal(work.request)});
for (const { url, error } of images)
  console.log(url ?? error.message);
`,
      };
    case "videos":
      return {
        names: ["createVideoTask", "waitForVideoTask"],
        body: `const task = await createVideoTask(client, ${literal(work.request)});
console.log("Keep this:", JSON.stringify(task));

const { url } = await waitForVideoTask(client, task);
console.log(url);
`,
      };
    case "assets":
      return {
        names: ["createAsset", "waitForAsset"],
        body: `const asset = await createAsset(client, ${literal(work.request)});
const { uri } = await waitForAsset(client, asset);
console.log(uri);
`,
      };
  }
}

const paths = {
  chat: "/v1/chat/completions",
  images: "/v1/images/generations",
  videos: "/v1/video/generations",
  assets: "/gamma/asset/CreateAsset",
};

/** Writes the request as a curl command. */
export function curlOf(work: Work, baseURL: string): string {
  const body = work.room === "chat" ? { ...chatRequestOf(work), stream: true } : work.request;
  // a quote in a quoted word of the shell: close, escape, open
  const quoted = json(body).replaceAll("'", "'\\''");
  return `curl ${work.room === "chat" ? "-N " : ""}${baseURL}${paths[work.room]} \\
  -H 'content-type: application/json' \\
  -d '${quoted}'
`;
}
