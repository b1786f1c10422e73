import { type KeyboardEvent, type ReactNode, type RefObject, useState } from "react";

interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isBusy: boolean;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
  /** What stands below the field. */
  readonly children: ReactNode;
}

/** Where one writes. While an answer is under way one can write on, and send when it has ended. */
export function Composer({ field, isBusy, onSend, onStop, children }: ComposerProps) {
  const [draft, setDraft] = useState("");
  const isBlank = draft.trim() === "";

  const submit = () => {
    if (isBusy || isBlank) return;
    onSend(draft.trim());
    setDraft("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that picks a candidate of an input method is no Enter; Safari says so with 229 alone
    const isPicking = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || isPicking) return;
    event.preventDefault();
    submit();
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="entry">
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
