import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { isEnter } from "./is-enter.js";
import { NotSent, type Reason } from "./reason.js";

interface QuestionEditorProps {
  readonly text: string;
  /** Why what was written here before was not sent. */
  readonly reason?: Reason | undefined;
  readonly mayBeBlank: boolean;
  readonly onSave: (text: string) => void;
  readonly onCancel: () => void;
}

/** A question in the making again. */
export function QuestionEditor({ text, reason, mayBeBlank, onSave, onCancel }: QuestionEditorProps) {
  const [draft, setDraft] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  const canSave = mayBeBlank || draft.trim() !== "";
  useEffect(() => {
    const { current } = field;
    current?.focus();
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);

  const save = () => canSave && onSave(draft.trim());
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" && !isEnter(event)) return;
    event.preventDefault();
    if (event.key === "Escape") onCancel();
    else save();
  };

  return (
    <form
      className="editor"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <div className="grows" data-draft={draft}>
        <textarea
          ref={field}
          aria-label="Edit your message"
          title="Enter saves, Shift+Enter starts a new line, Escape cancels"
          dir="auto"
          rows={1}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      {reason && <NotSent reason={reason} />}
      <div className="choices">
        <button type="submit" className="small" disabled={!canSave}>
          Save
        </button>
        <button type="button" className="quiet small" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
