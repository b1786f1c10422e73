"use client";

import type { ChatMessage } from "@sluice/react";
import { Pencil } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Branches } from "@/components/sluice/branches";
import { Button, IconButton } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { detectDirection, useFieldText } from "@/components/sluice/field-text";
import { MessageImages } from "@/components/sluice/message-images";
import { messageWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

/** A longer message is shown in part. */
const LONG_LINES = 12;
const LONG_CHARACTERS = 900;

interface UserMessageProps {
  readonly message: ChatMessage;
  /** True while a response is in flight: nothing can be edited then. @default false */
  readonly isBusy?: boolean;
  /** Sends the message anew with another text: `edit` of `useChatStream`. @default no button for it */
  readonly onEdit?: (messageId: string, text: string) => unknown;
  /** Shows another version of it: `switchBranch` of `useChatStream`. */
  readonly onSwitchBranch?: (messageId: string) => void;
}

/** A message of the user: a bubble that can be copied and edited. */
export function UserMessage(props: UserMessageProps) {
  const { message, isBusy = false, onEdit, onSwitchBranch } = props;
  const { content, images = [], branches = [] } = message;
  const [isEditing, setIsEditing] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  const close = () => {
    flushSync(() => setIsEditing(false));
    editButton.current?.focus();
  };
  if (isEditing && onEdit) return <Editor message={message} onEdit={onEdit} onClose={close} />;
  return (
    <article
      aria-label={messageWords.userMessage}
      className="group/message relative flex min-w-0 max-w-[85%] flex-col items-end gap-1 self-end"
    >
      <h2 className="sr-only">{messageWords.user}</h2>
      <MessageImages images={images} />
      {content !== "" && <Bubble text={content} />}
      <div
        className={cn(
          "-me-1 flex items-center text-muted-foreground transition-opacity group-focus-within/message:opacity-100 group-hover/message:opacity-100 pointer-coarse:opacity-100",
          branches.length < 2 && "opacity-0 pointer-fine:absolute pointer-fine:top-full pointer-fine:end-0",
        )}
      >
        {onSwitchBranch && <Branches message={message} onSwitch={onSwitchBranch} />}
        {content !== "" && <CopyButton text={content} label={messageWords.copyMessage} />}
        {onEdit && (
          <IconButton
            ref={editButton}
            data-edit
            label={messageWords.edit}
            disabled={isBusy}
            onClick={() => setIsEditing(true)}
          >
            <Pencil aria-hidden />
          </IconButton>
        )}
      </div>
    </article>
  );
}

function Bubble({ text }: { readonly text: string }) {
  const isLong = text.length > LONG_CHARACTERS || text.split("\n").length > LONG_LINES;
  const [isOpen, setIsOpen] = useState(false);
  const isCut = isLong && !isOpen;
  return (
    <div className="max-w-full rounded-2xl border border-transparent bg-secondary px-4 py-2">
      <p
        dir="auto"
        className={cn(
          "wrap-anywhere whitespace-pre-wrap",
          isCut && "max-h-72 overflow-hidden mask-b-from-70%",
        )}
      >
        {text}
      </p>
      {isLong && (
        <Button variant="quiet" className="-ms-3" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? messageWords.showLess : messageWords.showMore}
        </Button>
      )}
    </div>
  );
}

interface EditorProps extends Required<Pick<UserMessageProps, "message" | "onEdit">> {
  readonly onClose: () => void;
}

function Editor({ message, onEdit, onClose }: EditorProps) {
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
    void onEdit(message.id, text);
  };
  return (
    <form
      className="flex w-full flex-col gap-2 self-end rounded-2xl bg-secondary p-3"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={field}
        dir={detectDirection(text)}
        aria-label={messageWords.editMessage}
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
        <Button onClick={onClose}>{messageWords.cancel}</Button>
        <Button type="submit" variant="primary" disabled={!canSend}>
          {messageWords.send}
        </Button>
      </div>
    </form>
  );
}
