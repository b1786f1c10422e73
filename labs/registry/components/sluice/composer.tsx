"use client";

import type { ChatState } from "@sluice/react";
import { ArrowUp, Clock, Square, X } from "lucide-react";
import type { ClipboardEventHandler, FormEvent, KeyboardEvent, ReactNode, RefObject } from "react";
import { useRef } from "react";
import { Button, IconButton, onPressOnce } from "@/components/sluice/button";
import { detectDirection, useFieldText } from "@/components/sluice/field-text";
import { composerWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

interface ComposerProps {
  /** The text that is written: `draft` of `useDraft`. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
  /** True while a response is in flight. @default false */
  readonly isBusy?: boolean;
  readonly onStop?: (() => void) | undefined;
  /** True if there is content to send beside the text, such as images. @default false */
  readonly hasFiles?: boolean;
  /** True if nothing can be sent now. @default false */
  readonly isBlocked?: boolean;
  readonly onPaste?: ClipboardEventHandler;
  readonly field?: RefObject<HTMLTextAreaElement | null>;
  /** Content before the box: `Queue`. */
  readonly before?: ReactNode;
  /** Content above the text: `Attachments`. */
  readonly above?: ReactNode;
  /** Buttons beside the send button: `AttachButton`. */
  readonly children?: ReactNode;
}

/** The field for a message. Enter sends, and Shift + Enter begins a line. */
export function Composer(props: ComposerProps) {
  const { text, onText, onSend, isBusy = false, hasFiles = false, isBlocked = false } = props;
  const ownField = useRef<HTMLTextAreaElement>(null);
  const { field = ownField } = props;
  const isEmpty = text.trim() === "" && !hasFiles;
  const canSend = !isEmpty && !isBlocked;
  const fieldProps = useFieldText(field, text, onText);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canSend) onSend();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // a button that was pressed with Enter may move the focus here while the key is held
    if (!event.repeat && canSend) onSend();
  };
  return (
    <form
      onSubmit={submit}
      className="@container mx-auto flex w-full max-w-3xl flex-col gap-2 px-2 pb-2 [@media(height<32rem)]:pb-1"
    >
      {props.before}
      <div className="flex flex-col rounded-2xl border border-input bg-card p-1.5 shadow-sm focus-within:border-primary">
        {/* many files must not push the text and "Send" out of the window */}
        <div className="max-h-[30dvh] overflow-y-auto">{props.above}</div>
        <div className="flex flex-wrap items-end gap-1 [@media(height<32rem)]:flex-nowrap">
          <textarea
            ref={field}
            dir={detectDirection(text)}
            aria-label={composerWords.message}
            placeholder={composerWords.placeholder}
            rows={1}
            {...fieldProps}
            onPaste={props.onPaste}
            onKeyDown={onKeyDown}
            className="field-sizing-content max-h-48 min-w-0 grow basis-full resize-none bg-transparent px-2 py-1 outline-none placeholder:truncate pointer-coarse:min-h-11 [@media(height<32rem)]:order-2 [@media(height<32rem)]:max-h-16 [@media(height<32rem)]:basis-0 [@media(height<32rem)_and_(width<24rem)]:placeholder:opacity-0"
          />
          {props.children}
          {isBusy && (
            <IconButton
              label={composerWords.stop}
              keys={composerWords.stopKeys}
              variant={isEmpty ? "primary" : "secondary"}
              className="ms-auto rounded-full! [@media(height<32rem)]:order-4"
              onClick={props.onStop}
            >
              <Square aria-hidden className="fill-current" />
            </IconButton>
          )}
          {(!isBusy || !isEmpty) && (
            <IconButton
              type="submit"
              label={isBusy ? composerWords.queue : composerWords.send}
              variant="primary"
              disabled={!canSend}
              className={cn("rounded-full! [@media(height<32rem)]:order-5", !isBusy && "ms-auto")}
            >
              <ArrowUp aria-hidden />
            </IconButton>
          )}
        </div>
      </div>
    </form>
  );
}

interface QueueProps {
  /** Messages that wait for the response in flight: `queued` of `useChatStream`. */
  readonly queued: ChatState["queued"];
  readonly isBusy: boolean;
  /** Removes a message from the queue: `cancelQueued`. */
  readonly onCancel: (id: string) => void;
  /** Sends them after an error or a reload, and the failed response before: `retry`. */
  readonly onRetry: () => void;
}

/** The queued messages. After an error or a reload, the user sends them. */
export function Queue({ queued, isBusy, onCancel, onRetry }: QueueProps) {
  if (queued.length === 0) return null;
  return (
    <ul aria-label={composerWords.queued} className="flex max-h-[20dvh] flex-wrap gap-2 overflow-y-auto">
      {queued.map(({ id, content }) => (
        <li
          key={id}
          className="flex max-w-full items-center gap-2 rounded-full border bg-secondary/50 ps-3 text-sm"
        >
          <Clock aria-hidden className="size-4 shrink-0 text-muted-foreground" />
          <span dir="auto" className="truncate">
            {content || composerWords.onlyImages}
          </span>
          <IconButton
            label={composerWords.remove(content)}
            className="rounded-full!"
            onClick={() => onCancel(id)}
          >
            <X aria-hidden />
          </IconButton>
        </li>
      ))}
      {!isBusy && (
        <li>
          <Button {...onPressOnce(onRetry)}>{composerWords.continue}</Button>
        </li>
      )}
    </ul>
  );
}
