import { type UseDraftOptions, useDraft } from "@sluice/react/app";
import { ArrowUp, Square } from "lucide-react";
import {
  type ClipboardEventHandler,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
} from "react";
import { IconButton } from "../ui/button.js";
import { directionOf } from "../ui/direction.js";
import { useFieldText } from "../ui/field-text.js";
import { longTextOf, PastedTexts, textsOf } from "./pasted.js";

interface MessageBoxProps {
  /** Name of the draft: the conversation, or "new". */
  readonly draftKey: string;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  /** Sends the text with those that were pasted; resolves to false where it was not sent, and all of it comes back. */
  readonly onSend: (text: string) => Promise<boolean>;
  /** Says if an answer is in flight. */
  readonly isBusy?: boolean;
  readonly onStop?: () => void;
  /** Says if there is something to send beside the text. */
  readonly hasFiles?: boolean;
  /** Says if nothing can be sent now. */
  readonly isBlocked?: boolean;
  readonly onPaste?: ClipboardEventHandler;
  /** Called when an input method begins to compose a word, and when it ends. */
  readonly onComposing?: (isComposing: boolean) => void;
  /** Content above the text: images, and notes about them. */
  readonly above?: ReactNode;
  /** Content before the box: messages that wait. */
  readonly before?: ReactNode;
  /** Buttons beside the one that sends. */
  readonly children?: ReactNode;
}

/** The place to write a message. It needs nothing else of the chat, so that one can write at once. */
export function MessageBox(props: MessageBoxProps) {
  const { draftKey, field, onSend, isBusy = false, hasFiles = false, isBlocked = false, onComposing } = props;
  const { draft, setDraft, clearDraft } = useCarriedDraft<string>("chat", draftKey, "");
  const pasted = useCarriedDraft("pasted", draftKey, noTexts, pastedOptions);
  const isEmpty = draft.trim() === "" && pasted.draft.length === 0 && !hasFiles;
  const canSend = !isEmpty && !isBlocked;
  const fieldProps = useFieldText(field, draft, setDraft);
  useFocusOfLastBox(field);

  async function send(): Promise<void> {
    if (!canSend) return;
    clearDraft();
    pasted.clearDraft();
    if (await onSend(joined(draft, ...pasted.draft))) return;
    // not sent: the text comes back, after what was written meanwhile
    setDraft((later) => joined(later, draft));
    pasted.setDraft((later) => [...pasted.draft, ...later]);
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // a key that is held on a button may end here, with the focus
    if (!event.repeat) void send();
  };

  return (
    <form onSubmit={submit} className="mx-auto flex w-full max-w-3xl flex-col gap-2 px-2 pb-2 short:pb-1">
      {props.before}
      <div className="flex flex-col rounded-2xl border border-edge/50 bg-raised p-1.5 shadow-sm focus-within:border-accent">
        {/* whatever is added, the text and "Send" stay in the window */}
        <div className="max-h-[30dvh] overflow-y-auto">
          {props.above}
          <PastedTexts
            texts={pasted.draft}
            onRemove={(index) => {
              pasted.setDraft((texts) => texts.filter((_, at) => at !== index));
              field.current?.focus();
            }}
          />
        </div>
        <div className="flex flex-wrap items-end gap-1 short:flex-nowrap">
          <textarea
            ref={field}
            dir={directionOf(draft)}
            aria-label="Message"
            placeholder="Ask anything"
            rows={1}
            {...fieldProps}
            onPaste={(event) => {
              const text = longTextOf(event);
              if (text === undefined) props.onPaste?.(event);
              else pasted.setDraft((texts) => [...texts, text]);
            }}
            onKeyDown={onKeyDown}
            onCompositionStart={() => onComposing?.(true)}
            onCompositionEnd={() => onComposing?.(false)}
            className="field-sizing-content max-h-48 min-w-0 grow basis-full resize-none bg-transparent px-2 py-1 outline-none placeholder:truncate pointer-coarse:min-h-11 short:order-2 short:max-h-16 short:basis-0 narrow:placeholder:opacity-0"
          />
          {props.children}
          {isBusy && (
            <IconButton
              label="Stop"
              keys="Esc"
              look={isEmpty ? "primary" : "secondary"}
              className="rounded-full! short:order-4"
              onClick={props.onStop}
            >
              <Square aria-hidden className="fill-current" />
            </IconButton>
          )}
          {(!isBusy || !isEmpty) && (
            <IconButton
              type="submit"
              label={isBusy ? "Queue" : "Send"}
              look="primary"
              disabled={!canSend}
              className="ml-auto rounded-full! short:order-5"
            >
              <ArrowUp aria-hidden />
            </IconButton>
          )}
        </div>
      </div>
    </form>
  );
}

const noTexts: readonly string[] = [];
const pastedOptions = { parse: textsOf };

/** Joins the texts of a message. */
function joined(...texts: readonly string[]): string {
  return texts.filter(Boolean).join("\n\n");
}

/** A draft of a chat. A new chat gets an id with its first message: what was written meanwhile goes with it. */
function useCarriedDraft<Draft extends string | readonly string[]>(
  kind: string,
  draftKey: string,
  initial: Draft,
  options?: UseDraftOptions<Draft>,
) {
  const current = useDraft(`${kind}/${draftKey}`, initial, options);
  const last = useRef({ draftKey, ...current });
  useEffect(() => {
    const before = last.current;
    last.current = { draftKey, ...current };
    if (before.draftKey === draftKey || before.draft.length === 0) return;
    before.clearDraft();
    current.setDraft((own) => (own.length > 0 ? own : before.draft));
  });
  return current;
}

/** Selection of a box with the focus that goes away, for the box that takes its place. */
let left: readonly [start: number, end: number] | undefined;

/** Moves the focus and the selection to a box that takes the place of another in the same commit. */
function useFocusOfLastBox(field: RefObject<HTMLTextAreaElement | null>): void {
  useLayoutEffect(() => {
    const element = field.current;
    if (left) {
      element?.focus({ preventScroll: true });
      element?.setSelectionRange(...left);
      left = undefined;
    }
    return () => {
      if (!element || document.activeElement !== element) return;
      left = [element.selectionStart, element.selectionEnd];
      queueMicrotask(() => {
        left = undefined;
      });
    };
  }, [field]);
}
