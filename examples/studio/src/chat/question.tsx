import type { ThreadMessage } from "@sluice/core";
import { useRef, useState } from "react";
import { SentImages } from "../images/sent-images.js";
import { useConversationActions, useIsBusy } from "./actions.js";
import { BranchArrows } from "./branch-arrows.js";
import { QuestionEditor } from "./question-editor.js";
import { type Reason, reasonOf } from "./reason.js";

/** What a person asked. Its text can be edited in place; the old version stays beside the new one. */
export function Question({ message }: { message: ThreadMessage }) {
  return (
    <article className="question" aria-label="Your message">
      <Body key={message.id} message={message} />
    </article>
  );
}

function Body({ message }: { message: ThreadMessage }) {
  const { id, content, images = [] } = message;
  const { edit } = useConversationActions();
  const [edited, setEdited] = useState<{ text: string; reason?: Reason | undefined }>();
  const editButton = useRef<HTMLButtonElement>(null);

  const save = async (text: string) => {
    setEdited(undefined);
    const turn = await edit(id, text);
    if (turn.messages.length === 0) setEdited({ text, reason: reasonOf(turn) });
  };
  const cancel = () => {
    setEdited(undefined);
    // the button is back when React is done
    requestAnimationFrame(() => editButton.current?.focus());
  };

  return (
    <>
      {images.length > 0 && <SentImages urls={images} />}
      {edited ? (
        <QuestionEditor {...edited} mayBeBlank={images.length > 0} onSave={save} onCancel={cancel} />
      ) : (
        <div className="row">
          {content !== "" && <p className="said">{content}</p>}
          <div className="after">
            <BranchArrows message={message} />
            <EditButton ref={editButton} onClick={() => setEdited({ text: content })} />
          </div>
        </div>
      )}
    </>
  );
}

interface EditButtonProps {
  readonly ref: React.RefObject<HTMLButtonElement | null>;
  readonly onClick: () => void;
}

function EditButton({ ref, onClick }: EditButtonProps) {
  const isBusy = useIsBusy();
  return (
    <button ref={ref} type="button" className="quiet small edit" disabled={isBusy} onClick={onClick}>
      Edit
    </button>
  );
}
