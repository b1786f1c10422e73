import type { Work } from "../inspected.js";
import { type ChatWork, exampleTool, offersTools, questionOf } from "./chat-body.js";
import { fields, literal } from "./literal.js";

/** Writes a React component with its provider. */
export function reactOf(work: Work, baseURL: string): string {
  switch (work.room) {
    case "chat":
      return chatOf(work, baseURL);
    case "images":
      return appOf(
        { core: ["createClient"], hook: "useImages", baseURL },
        `function Images() {
  const { generate, data, status, error } = useImages({
    model: ${JSON.stringify(work.request.model)},
  });
  const request = ${literal({ ...work.request, model: undefined }, 1)} as const;
  return (
    <main>
      <button disabled={status === "pending"} onClick={() => generate(request)}>
        Generate
      </button>
      {error && <p role="alert">{error.message}</p>}
      {data?.images.map(({ url }) => url && <img key={url} src={url} alt="" />)}
    </main>
  );
}`,
        "Images",
      );
    case "videos":
      return appOf(
        { core: ["createClient", "indexedDBStorage", "type VideoRequest"], hook: "useVideoTask", baseURL },
        `const storage = indexedDBStorage();
const request: VideoRequest = ${literal(work.request)};

function Video() {
  const { create, data, status, progress, error } = useVideoTask({ storage });
  if (data) return <video src={data.url} controls />;
  if (status === "pending") return <progress value={progress} />;
  return (
    <main>
      <button onClick={() => create(request)}>Make a video</button>
      {error && <p role="alert">{error.message}</p>}
    </main>
  );
}`,
        "Video",
      );
    case "assets":
      return appOf(
        { core: ["createClient"], hook: "useAsset", baseURL, needsLookup: true },
        `function Asset() {
  const { create, status, phase, uri, error } = useAsset({
    groupId: ${JSON.stringify(work.request.GroupId || "studio")},
  });
  if (uri) return <code>{uri}</code>;
  return (
    <label>
      {error ? error.message : (phase ?? "Choose an image")}
      <input
        type="file"
        accept="image/*"
        disabled={status === "pending"}
        onChange={({ target }) => target.files?.[0] && create(target.files[0])}
      />
    </label>
  );
}`,
        "Asset",
      );
  }
}

function chatOf(work: ChatWork, baseURL: string): string {
  const { target, instructions } = work;
  const hasTools = offersTools(work);
  const tools = hasTools
    ? `const tools = [
  defineTool({
    name: ${JSON.stringify(exampleTool.name)},
    description: ${JSON.stringify(exampleTool.description)},
    parameters: ${literal(exampleTool.parameters, 2)},
    needsApproval: true,
    execute: (note) => ({ saved: note }),
  }),
];

`
    : "";
  const approval = hasTools
    ? `
      {pendingActions.map(({ toolCallId }) => (
        <button key={toolCallId} onClick={() => approve(toolCallId)}>Approve</button>
      ))}`
    : "";
  const options = { ...target, instructions };
  return appOf(
    {
      core: ["createClient", ...(hasTools ? ["defineTool"] : []), "indexedDBStorage"],
      hook: "useChatStream",
      baseURL,
    },
    `const storage = indexedDBStorage();
${tools}
function Chat() {
  const { messages, status, error, send, stop, retry${hasTools ? ", approve, pendingActions" : ""} } = useChatStream({
    id: "chat-1",
    storage,
${hasTools ? "    tools,\n" : ""}${fields(options, 2)}    whenBusy: "queue",
  });
  return (
    <main>
      {messages.map(({ id, role, content }) => <p key={id} className={role}>{content}</p>)}${approval}
      {error && <p role="alert">{error.message}</p>}
      {status === "error" && <button onClick={retry}>Try again</button>}
      {status === "streaming" && <button onClick={stop}>Stop</button>}
      <form action={(form) => void send(String(form.get("question")))}>
        <input name="question" defaultValue={${JSON.stringify(questionOf(work))}} required />
      </form>
    </main>
  );
}`,
    "Chat",
  );
}

interface AppParts {
  /** Names imported from the core. */
  readonly core: readonly string[];
  readonly hook: string;
  readonly baseURL: string;
  readonly needsLookup?: boolean;
}

function appOf({ core, hook, baseURL, needsLookup }: AppParts, component: string, name: string): string {
  const client = needsLookup
    ? `createClient({
  baseURL: ${JSON.stringify(baseURL)},
  assetLookup: (id, request) => request("/gamma/asset/GetAsset", { Id: id }),
})`
    : `createClient({ baseURL: ${JSON.stringify(baseURL)} })`;
  return `import { ${core.join(", ")} } from "@sluice/core";
import { GatewayProvider, ${hook} } from "@sluice/react";

const client = ${client};
${component.startsWith("const") ? "" : "\n"}${component}

export function App() {
  return (
    <GatewayProvider client={client}>
      <${name} />
    </GatewayProvider>
  );
}
`;
}
