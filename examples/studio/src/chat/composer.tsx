import type { ThreadTurn } from "@sluice/core";
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useState } from "react";
import { ImagePicker } from "../images/image-picker.js";
import { Previews } from "../images/previews.js";
import type { Attachments } from "../images/use-attachments.js";
import { isEnter } from "./is-enter.js";
import { NotSent, type Reason, reasonOf } from "./reason.js";

interface ComposerProps {
  /** What is being written is kept under this name while another conversation is open. */
  readonly chatId: string;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isBusy: boolean;
  readonly attachments: Attachments;
  /** Why the model can't be shown an image. */
  readonly blindness: string | undefined;
  readonly onSend: (text: string, images: readonly File[]) => Promise<ThreadTurn>;
  readonly onStop: () => void;
  /** What stands below the field. */
  readonly children: ReactNode;
}

const drafts = new Map<string, string>();

/** Where one writes. While an answer is under way one can write on, and send when it has ended. */
export function Composer(props: ComposerProps) {
  const { chatId, field, isBusy, attachments, blindness, onSend, onStop, children } = props;
  const { files, objection } = attachments;
  const [draft, setDraft] = useState(() => drafts.get(chatId) ?? "");
  const [reason, setReason] = useState<Reason>();
  useEffect(() => void drafts.set(chatId, draft), [chatId, draft]);
  const isBlank = draft.trim() === "" && files.length === 0;

  const submit = async () => {
    if (isBusy || isBlank) return;
    const text = draft.trim();
    setDraft("");
    setReason(undefined);
    attachments.clear();
    const turn = await onSend(text, files);
    if (turn.messages.length > 0) return;
    // what was not sent comes back, before what was written meanwhile
    setDraft((written) => [text, written].filter(Boolean).join("\n"));
    attachments.putBack(files);
    setReason(reasonOf(turn));
  };
  const pick = (picked: Iterable<File>) => {
    attachments.add(picked);
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isEnter(event)) return;
    event.preventDefault();
    void submit();
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Previews files={files} onRemove={attachments.remove} />
      {objection && (
        <p className="objection" role="alert">
          {objection}
        </p>
      )}
      {reason && <NotSent reason={reason} />}
      <div className="entry">
        <ImagePicker blindness={blindness} onPick={pick} />
        <div className="grows" data-draft={draft}>
          <textarea
            ref={field}
            aria-label="Message"
            placeholder="Ask something"
            title="Enter sends, Shift+Enter starts a new line, Escape stops"
            dir="auto"
            rows={1}
            // biome-ignore lint/a11y/noAutofocus: a chat is opened to write in it, and nothing comes before
            autoFocus={!matchMedia("(pointer: coarse)").matches}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={onKeyDown}
          />
        </div>
        {isBusy ? (
          <button type="button" className="main" onClick={onStop}>
            Stop
          </button>
        ) : (
          <button type="submit" className="main" disabled={isBlank}>
            Send
          </button>
        )}
      </div>
      {children}
    </form>
  );
}
