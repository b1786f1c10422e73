import type { ThreadMessage } from "@sluice/core";
import clsx from "clsx";
import { ChevronLeft, ChevronRight, Pencil } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Button, IconButton } from "../ui/button.js";
import { CopyButton } from "../ui/code.js";
import { directionOf } from "../ui/direction.js";
import { useFieldText } from "../ui/field-text.js";
import { Dialog } from "../ui/popups.js";
import { CONTINUE, useVerbs } from "./chat.js";

/** Length from which a question is shown in part. */
const LONG_LINES = 12;
const LONG_CHARACTERS = 900;

interface QuestionProps {
  readonly message: ThreadMessage;
  readonly isBusy: boolean;
}

/** A message of the user: a bubble that can be edited. */
export function Question({ message, isBusy }: QuestionProps) {
  const { content, images = [], branches = [] } = message;
  const [isEditing, setIsEditing] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  const close = () => {
    flushSync(() => setIsEditing(false));
    editButton.current?.focus();
  };
  if (isEditing) return <Editor message={message} onClose={close} />;
  return (
    <article
      aria-label="Your message"
      className="relative flex min-w-0 max-w-[85%] flex-col items-end gap-1 self-end"
    >
      <h2 className="sr-only">You</h2>
      {images.length > 0 && <Images images={images} />}
      {content === CONTINUE ? (
        <p className="text-xs text-muted">Continue</p>
      ) : (
        content !== "" && <Bubble text={content} />
      )}
      <div
        className={clsx(
          "-mr-1 flex items-center text-muted transition-opacity group-focus-within/turn:opacity-100 group-hover/turn:opacity-100 pointer-coarse:opacity-100",
          branches.length < 2 && "opacity-0 pointer-fine:absolute pointer-fine:top-full pointer-fine:right-0",
        )}
      >
        {branches.length > 1 && <Versions message={message} />}
        {content !== "" && <CopyButton text={content} label="Copy message" />}
        <IconButton
          ref={editButton}
          data-edit
          label="Edit"
          disabled={isBusy}
          onClick={() => setIsEditing(true)}
        >
          <Pencil aria-hidden />
        </IconButton>
      </div>
    </article>
  );
}

/** Arrows between the versions of a message. */
export function Versions({ message }: { readonly message: ThreadMessage }) {
  const { switchBranch } = useVerbs();
  const { id, branches = [id] } = message;
  const index = branches.indexOf(id);
  const show = (at: number) => {
    const version = branches[at];
    if (version !== undefined) switchBranch(version);
  };
  return (
    <div className="flex items-center">
      <IconButton label="Previous version" disabled={index <= 0} onClick={() => show(index - 1)}>
        <ChevronLeft aria-hidden />
      </IconButton>
      <span className="text-xs tabular-nums">
        {index + 1}/{branches.length}
      </span>
      <IconButton
        label="Next version"
        disabled={index >= branches.length - 1}
        onClick={() => show(index + 1)}
      >
        <ChevronRight aria-hidden />
      </IconButton>
    </div>
  );
}

function Bubble({ text }: { readonly text: string }) {
  const isLong = text.length > LONG_CHARACTERS || text.split("\n").length > LONG_LINES;
  const [isOpen, setIsOpen] = useState(false);
  const isCut = isLong && !isOpen;
  return (
    <div className="max-w-full rounded-2xl border border-transparent bg-hover px-4 py-2">
      <p
        dir="auto"
        className={clsx(
          "wrap-anywhere whitespace-pre-wrap",
          isCut && "max-h-72 overflow-hidden mask-b-from-70%",
        )}
      >
        {text}
      </p>
      {isLong && (
        <Button look="quiet" className="-ml-3" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show more"}
        </Button>
      )}
    </div>
  );
}

/** Images of a message. One that is pressed opens at its full size. */
export function Images({ images }: { readonly images: readonly string[] }) {
  return (
    <ul aria-label="Images" className="flex flex-wrap justify-end gap-2">
      {images.map((url, index) => (
        <li key={url}>
          <Dialog
            title={`Image ${index + 1}`}
            trigger={
              <button type="button" aria-label={`Open image ${index + 1}`} className="block">
                <img src={url} alt="" className="size-32 rounded-xl border object-cover" />
              </button>
            }
          >
            <img src={url} alt={`Attachment ${index + 1}`} className="mx-auto max-h-[65vh] rounded-lg" />
          </Dialog>
        </li>
      ))}
    </ul>
  );
}

function Editor({ message, onClose }: { readonly message: ThreadMessage; readonly onClose: () => void }) {
  const { edit } = useVerbs();
  const [text, setText] = useState(message.content);
  const field = useRef<HTMLTextAreaElement>(null);
  const fieldProps = useFieldText(field, text, setText);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);
  const canSend = text.trim() !== "" || Boolean(message.images?.length);
  const save = () => {
    if (!canSend) return;
    onClose();
    void edit(message.id, text);
  };
  return (
    <form
      className="flex w-full flex-col gap-2 self-end rounded-2xl bg-hover p-3"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={field}
        dir={directionOf(text)}
        aria-label="Edit your message"
        {...fieldProps}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") {
            event.stopPropagation();
            onClose();
          }
          if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            save();
          }
        }}
        className="field-sizing-content max-h-72 resize-none bg-transparent px-1 outline-none pointer-coarse:min-h-11"
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" disabled={!canSend}>
          Send
        </Button>
      </div>
    </form>
  );
}
