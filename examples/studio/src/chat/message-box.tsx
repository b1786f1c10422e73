import {
  type ClipboardEventHandler,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
} from "react";
import { Composer } from "@/components/sluice/composer";
import { type UseDraftOptions, useDraft } from "@/components/sluice/use-draft";
import { longTextOf, PastedTexts, textsOf, useIncoming } from "./documents.js";

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
  /** Content below the box, for the text with those that were pasted: what it will cost. */
  readonly below?: (text: string) => ReactNode;
  /** Buttons beside the one that sends. */
  readonly children?: ReactNode;
}

/** The place to write a message. It needs nothing else of the chat, so that one can write at once. */
export function MessageBox(props: MessageBoxProps) {
  const { draftKey, field, onSend, isBusy = false, hasFiles = false, isBlocked = false } = props;
  const { draft, setDraft, clearDraft } = useCarriedDraft<string>("chat", draftKey, "");
  const pasted = useCarriedDraft("pasted", draftKey, noTexts, pastedOptions);
  useFocusOfLastBox(field);
  const reading = useIncoming(draftKey, (texts) => pasted.setDraft((before) => [...before, ...texts]));

  async function send(): Promise<void> {
    clearDraft();
    pasted.clearDraft();
    if (await onSend(joined(draft, ...pasted.draft))) return;
    // not sent: the text comes back, after what was written meanwhile
    setDraft((later) => joined(later, draft));
    pasted.setDraft((later) => [...pasted.draft, ...later]);
  }

  return (
    <Composer
      field={field}
      text={draft}
      onText={setDraft}
      onSend={() => void send()}
      isBusy={isBusy}
      onStop={props.onStop}
      hasFiles={hasFiles || pasted.draft.length > 0}
      isBlocked={isBlocked || reading.length > 0}
      onPaste={(event) => {
        const text = longTextOf(event);
        if (text === undefined) props.onPaste?.(event);
        else pasted.setDraft((texts) => [...texts, text]);
      }}
      onComposing={props.onComposing}
      before={props.before}
      below={props.below?.(joined(draft, ...pasted.draft))}
      above={
        <>
          {props.above}
          <PastedTexts
            texts={pasted.draft}
            reading={reading}
            onRemove={(index) => {
              pasted.setDraft((texts) => texts.filter((_, at) => at !== index));
              field.current?.focus();
            }}
          />
        </>
      }
    >
      {props.children}
    </Composer>
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
