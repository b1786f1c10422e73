import type { Work } from "../feed.js";
import { importOf, literal, type Server } from "./parts.js";
import { chatComponentOf } from "./react-chat.js";

/** Writes a React component with its provider. */
export function reactOf(work: Work, server: Server): string {
  switch (work.room) {
    case "chat": {
      const { names, code, name } = chatComponentOf(work);
      return appOf({ core: ["createClient", ...names], hook: "useChatStream", server }, code, name);
    }
    case "images":
      return appOf(
        { core: ["createClient"], hook: "useImages", server },
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
        { core: ["createClient", "indexedDBStorage", "type VideoRequest"], hook: "useVideoTask", server },
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
        { core: ["createClient"], hook: "useAsset", server, needsLookup: true },
        `function Asset() {
  const asset = useAsset({
    groupId: ${JSON.stringify(work.request.GroupId || "studio")},
  });
  const text = asset.phase ?? "Choose an image";
  if (asset.data) return <code>{asset.data.uri}</code>;
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

interface AppParts {
  /** Names imported from the core. */
  readonly core: readonly string[];
  readonly hook: string;
  readonly server: Server;
  readonly needsLookup?: boolean;
}

function appOf({ core, hook, server, needsLookup }: AppParts, component: string, name: string): string {
  const client = needsLookup
    ? `createClient({
  baseURL: ${server.code},
  gateway: { assetLookup: "/gamma/asset/GetAsset" },
})`
    : `createClient({
  baseURL: ${server.code},
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
