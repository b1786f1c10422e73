import type { Work } from "../feed.js";
import { type ChatWork, exampleTool, fields, importOf, literal, offersTools, questionOf } from "./parts.js";

/** Writes a React component with its provider. */
export function reactOf(work: Work, baseURL: string): string {
  switch (work.room) {
    case "chat":
      return chatOf(work, baseURL);
    case "images":
      return appOf(
        { core: ["createClient"], hook: "useImages", baseURL },
        `function Images() {
  const images = useImages({
    model: ${JSON.stringify(work.request.model)},
  });
  const request = ${literal({ ...work.request, model: undefined }, 1, "const request = as const")} as const;
  return (
    <main>
      <button
        disabled={images.status === "pending"}
        onClick={() => images.generate(request)}
      >
        Generate
      </button>
      {images.error && (
        <p role="alert">{images.error.message}</p>
      )}
      {images.data?.images.map(({ url, error }) =>
        error ? (
          <p role="alert">{error.message}</p>
        ) : (
          <img key={url} src={url} alt="" />
        ),
      )}
    </main>
  );
}`,
        "Images",
      );
    case "videos":
      return appOf(
        { core: ["createClient", "indexedDBStorage", "type VideoRequest"], hook: "useVideoTask", baseURL },
        `const storage = indexedDBStorage();
const request: VideoRequest = ${literal(work.request, 0, "const request: VideoRequest = ")};

function Video() {
  const video = useVideoTask({ storage });
  if (video.data)
    return <video src={video.data.url} controls />;
  if (video.status === "pending")
    return <progress value={video.progress} />;
  return (
    <main>
      <button onClick={() => video.create(request)}>
        Make a video
      </button>
      {video.error && (
        <p role="alert">{video.error.message}</p>
      )}
    </main>
  );
}`,
        "Video",
      );
    case "assets":
      return appOf(
        { core: ["createClient"], hook: "useAsset", baseURL, needsLookup: true },
        `function Asset() {
  const asset = useAsset({
    groupId: ${JSON.stringify(work.request.GroupId || "studio")},
  });
  const text = asset.phase ?? "Choose an image";
  if (asset.uri) return <code>{asset.uri}</code>;
  return (
    <label>
      {asset.error ? asset.error.message : text}
      <input
        type="file"
        accept="image/*"
        disabled={asset.status === "pending"}
        onChange={({ target: { files } }) =>
          files?.[0] && asset.create(files[0])
        }
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
      {chat.pendingActions.map(({ toolCallId }) => (
        <button
          key={toolCallId}
          onClick={() => chat.approve(toolCallId)}
        >
          Approve
        </button>
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
  const chat = useChatStream({
    id: "chat-1",
    storage, // survives a reload
${hasTools ? "    tools,\n" : ""}${fields(options, 2)}    whenBusy: "queue",
  });
  const ask = (form: FormData) =>
    void chat.send(String(form.get("question")));
  return (
    <main>
      {chat.messages.map(({ id, content }) => (
        <p key={id}>{content}</p>
      ))}${approval}
      {chat.error && (
        <p role="alert">{chat.error.message}</p>
      )}
      {chat.status === "error" && (
        <button onClick={chat.retry}>
          Try again
        </button>
      )}
      {chat.status === "streaming" && (
        <button onClick={chat.stop}>Stop</button>
      )}
      <form action={ask}>
        <input
          name="question"
          defaultValue=${attribute(questionOf(work))}
        />
      </form>
    </main>
  );
}`,
    "Chat",
  );
}

/** Writes a text as the value of a JSX attribute. */
function attribute(text: string): string {
  return /^[\w ,.?!-]*$/.test(text) ? `"${text}"` : `{${JSON.stringify(text)}}`;
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
  assetLookup: (id, request) =>
    request("/gamma/asset/GetAsset", { Id: id }),
})`
    : `createClient({
  baseURL: ${JSON.stringify(baseURL)},
})`;
  return `${importOf(core, "@sluice/core")}
${importOf(["GatewayProvider", hook], "@sluice/react")}

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
