import { type UseChatStreamResult, useAttachments } from "@sluice/react";
import { sendOnEnter } from "./send-on-enter";

export function Composer({ chat }: { chat: UseChatStreamResult }) {
  const files = useAttachments("alpha-v4.1-flash");
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  return (
    <form
      {...files.dropProps}
      onSubmit={(event) => {
        event.preventDefault();
        if (isBusy || files.isPreparing) return; // Enter keeps the text until it can be sent
        void chat.send(String(new FormData(event.currentTarget).get("text")), { images: files.images });
        event.currentTarget.reset();
        files.clear();
      }}
    >
      {files.attachments.map(({ id, file, previewUrl }) => (
        <button key={id} type="button" onClick={() => files.remove(id)}>
          <img src={previewUrl} alt={`Remove ${file.name}`} />
        </button>
      ))}
      {files.problems.map(({ id, message }) => (
        <p key={id} role="alert">
          {message}
        </p>
      ))}
      <textarea name="text" aria-label="Message" required onKeyDown={sendOnEnter} onPaste={files.onPaste} />
      <input {...files.inputProps} aria-label="Images" />
      <button type="submit" disabled={isBusy || files.isPreparing}>
        Send
      </button>
    </form>
  );
}
