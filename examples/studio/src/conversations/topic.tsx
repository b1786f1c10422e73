import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import type { Conversation } from "./list.js";
import "./topic.css";

interface TopicProps {
  readonly conversation: Conversation;
  readonly onRename: (title: string) => void;
  readonly onDelete: () => void;
}

/** What the open conversation is about, and what can be done with the whole of it. */
export function Topic({ conversation, onRename, onDelete }: TopicProps) {
  const [doing, setDoing] = useState<"rename" | "delete">();
  const actions = useRef<HTMLDivElement>(null);
  const leave = () => {
    setDoing(undefined);
    // the buttons are back when React is done
    requestAnimationFrame(() => actions.current?.querySelector("button")?.focus());
  };

  if (doing === "rename")
    return (
      <Renaming
        title={conversation.title}
        onCancel={leave}
        onRename={(title) => {
          onRename(title);
          leave();
        }}
      />
    );
  if (doing === "delete")
    return (
      <Bar onEscape={leave}>
        <strong>Delete this conversation for good?</strong>
        <div className="actions">
          <button type="button" className="small alarming" onClick={onDelete}>
            Delete
          </button>
          {/* biome-ignore lint/a11y/noAutofocus: somebody just asked for this, and the harmless answer is the nearest */}
          <button type="button" className="small" autoFocus onClick={leave}>
            Keep
          </button>
        </div>
      </Bar>
    );
  return (
    <Bar>
      <h2 dir="auto" title={conversation.title}>
        {conversation.title}
      </h2>
      <div ref={actions} className="actions">
        <button type="button" className="quiet small" onClick={() => setDoing("rename")}>
          Rename
        </button>
        <button type="button" className="quiet small" onClick={() => setDoing("delete")}>
          Delete
        </button>
      </div>
    </Bar>
  );
}

interface RenamingProps {
  readonly title: string;
  readonly onRename: (title: string) => void;
  readonly onCancel: () => void;
}

function Renaming({ title, onRename, onCancel }: RenamingProps) {
  const [draft, setDraft] = useState(title);
  return (
    <Bar onEscape={onCancel}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onRename(draft.trim() || title);
        }}
      >
        <input
          type="text"
          aria-label="Title"
          dir="auto"
          maxLength={100}
          // biome-ignore lint/a11y/noAutofocus: somebody just asked to write here
          autoFocus
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
        />
        <div className="actions">
          <button type="submit" className="small">
            Save
          </button>
          <button type="button" className="quiet small" onClick={onCancel}>
            Cancel
          </button>
        </div>
      </form>
    </Bar>
  );
}

/** Escape in it leaves it, and does not stop the answer as well. */
function Bar({ onEscape, children }: { onEscape?: () => void; children: ReactNode }) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !onEscape) return;
    event.preventDefault();
    onEscape();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys reach it from the controls within
    <div className="topic" onKeyDown={onKeyDown}>
      {children}
    </div>
  );
}
