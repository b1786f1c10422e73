import { createUploadStore } from "@sluice/media";
import {
  describeError,
  GatewayProvider,
  useAsset,
  useAttachments,
  useChatMessage,
  useChatStream,
  useClient,
  useConversations,
  useImages,
  useStore,
  useVideoTask,
  useVideoTasks,
} from "@sluice/react";
import { useState } from "react";
import { client } from "./client.js";

/* An app's use of the hooks. */

function Chat() {
  const { messages, status, error, send, pendingActions, approve } = useChatStream({ model: "delta-5.3" });
  const { images, inputProps } = useAttachments("delta-5.3");
  const [draft, setDraft] = useState({ text: "" });
  const { conversations } = useConversations();
  return (
    <form
      onSubmit={() => void send(draft.text, { images }).then(({ outcome }) => console.log(outcome))}
      aria-busy={status === "streaming"}
    >
      {conversations.map(({ id, title }) => (
        <a key={id} href={`#${id}`}>
          {title}
        </a>
      ))}
      {messages.map(({ id, role, content }) => (
        <p key={id}>
          {role}: {content}
        </p>
      ))}
      {pendingActions.map(({ toolCallId }) => (
        <button key={toolCallId} type="button" onClick={() => approve(toolCallId)}>
          Allow
        </button>
      ))}
      <input {...inputProps} />
      <input value={draft.text} onChange={({ target }) => setDraft({ text: target.value })} />
      {error && <p role="alert">{describeError(error).title}</p>}
    </form>
  );
}

function Studio() {
  const images = useImages({ model: "gamma-image-4-0-250828", params: { size: "1024x1024" } });
  const video = useVideoTask({ onSuccess: ({ url }) => console.log(url.length) });
  const { tasks } = useVideoTasks();
  const asset = useAsset({ groupId: "group-1" });
  const [uploads] = useState(() => createUploadStore(client, { use: "reference_video" }));
  const upload = useStore(uploads);
  const message = useChatMessage("chat", "message");
  const { baseURL } = useClient();
  return (
    <output title={baseURL}>
      {images.data?.images.map((image) => image.url).join()}
      {video.task?.state === "succeeded" ? video.task.url : video.status}
      {tasks.map(({ state }) => state).join()} {asset.data?.uri} {upload.progress}
      {message?.content}
    </output>
  );
}

export function App() {
  return (
    <GatewayProvider client={client}>
      <Chat />
      <Studio />
    </GatewayProvider>
  );
}
