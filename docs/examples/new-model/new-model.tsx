import { useChatStream, useImages, useVideoTask } from "@sluice/react";

export function Zeta() {
  const chat = useChatStream({ model: "zeta-9", checks: false, params: { depth: "deep" } });
  const images = useImages({ model: "zeta-9-image", checks: false });
  const video = useVideoTask();
  return (
    <>
      <button type="button" onClick={() => void chat.send("How deep is the Elbe?")}>
        Ask
      </button>
      <button type="button" onClick={() => void images.generate({ prompt: "A reef" })}>
        Paint
      </button>
      <button
        type="button"
        onClick={() => void video.create({ model: "zeta-9-video", prompt: "A reef" }, { checks: false })}
      >
        Film
      </button>
      <p>{chat.messages.at(-1)?.content}</p>
    </>
  );
}
