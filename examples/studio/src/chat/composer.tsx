import { type useAttachments, useDraft } from "@sluice/react/app";
import clsx from "clsx";
import { ArrowUp, Clock, Paperclip, Square, X } from "lucide-react";
import { type FormEvent, type KeyboardEvent, type ReactNode, type RefObject, useRef } from "react";
import { Button, IconButton } from "../ui/button.js";
import { type ChatSettings, changeSettings, modelWords } from "./settings.js";

type Attachments = ReturnType<typeof useAttachments>;

interface ComposerProps {
  /** Name of the draft: the conversation, or "new". */
  readonly draftKey: string;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly settings: ChatSettings;
  readonly attachments: Attachments;
  readonly isBusy: boolean;
  /** Messages that wait for the answer in flight. */
  readonly queued: readonly string[];
  readonly onSend: (text: string, images: readonly Blob[]) => Promise<boolean>;
  readonly onStop: () => void;
  readonly onDequeue: (index: number) => void;
  /** Menus beside the button that adds images. */
  readonly children?: ReactNode;
}

/** The place to write a message. */
export function Composer(props: ComposerProps) {
  const { draftKey, field, settings, attachments, isBusy, queued, onSend, onStop, onDequeue } = props;
  const { images, isPreparing, isBlind, inputProps, onPaste } = attachments;
  const { draft, setDraft, clearDraft } = useDraft(`chat/${draftKey}`, "");
  const picker = useRef<HTMLInputElement>(null);
  const isEmpty = draft.trim() === "" && images.length === 0;
  const canSend = !isEmpty && !isPreparing && !isBlind;

  async function send(): Promise<void> {
    if (!canSend) return;
    const files = attachments.attachments.map(({ file }) => file);
    const text = draft;
    clearDraft();
    attachments.clear();
    if (await onSend(text, images)) return;
    // not sent: the text and the images come back, unless there is something new
    setDraft((later) => later || text);
    attachments.add(files);
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };

  return (
    <form onSubmit={submit} className="mx-auto flex w-full max-w-3xl flex-col gap-2 px-2 pb-2 short:pb-1">
      <Queue texts={queued} onDequeue={onDequeue} />
      <div className="flex flex-col rounded-2xl border border-edge/50 bg-raised p-1.5 shadow-sm focus-within:border-accent">
        <Previews attachments={attachments} />
        {isBlind && <BlindNote settings={settings} switchTo={attachments.switchTo} />}
        <div className="flex flex-wrap items-end gap-1 short:flex-nowrap">
          <textarea
            ref={field}
            dir="auto"
            aria-label="Message"
            placeholder="Ask anything"
            rows={1}
            value={draft}
            onChange={({ target }) => setDraft(target.value)}
            onPaste={onPaste}
            onKeyDown={onKeyDown}
            className="field-sizing-content max-h-48 min-w-0 grow basis-full resize-none bg-transparent px-2 py-1 outline-none placeholder:truncate short:order-2 short:max-h-16 short:basis-0"
          />
          <input {...inputProps} ref={picker} aria-label="Images" className="hidden" />
          <IconButton label="Add images" className="short:order-1" onClick={() => picker.current?.click()}>
            <Paperclip aria-hidden />
          </IconButton>
          <div className="flex min-w-0 grow items-center gap-1 short:order-3 short:grow-0">
            {props.children}
          </div>
          {isBusy && (
            <IconButton
              label="Stop"
              keys="Esc"
              look={isEmpty ? "primary" : "secondary"}
              className="rounded-full! short:order-4"
              onClick={onStop}
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
              className="rounded-full! short:order-5"
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
  readonly texts: readonly string[];
  readonly onDequeue: (index: number) => void;
}

function Queue({ texts, onDequeue }: QueueProps) {
  if (texts.length === 0) return null;
  return (
    <ul aria-label="Queued messages" className="flex flex-wrap gap-2">
      {texts.map((text, index) => (
        <li
          key={index}
          className="flex max-w-full items-center gap-2 rounded-full border bg-surface pl-3 text-sm"
        >
          <Clock aria-hidden className="size-4 shrink-0 text-muted" />
          <span className="truncate">{text || "Images"}</span>
          <IconButton label={`Remove “${text}”`} className="rounded-full!" onClick={() => onDequeue(index)}>
            <X aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function Previews({ attachments: { attachments, problems, remove } }: { readonly attachments: Attachments }) {
  return (
    <>
      {attachments.length > 0 && (
        <ul aria-label="Images to send" className="flex flex-wrap gap-2 p-1">
          {attachments.map(({ id, file, previewUrl, isPreparing }) => (
            <li key={id} className="relative">
              <img
                src={previewUrl}
                alt={file.name}
                className={clsx(
                  "size-16 rounded-xl border object-cover short:size-10",
                  isPreparing && "animate-pulse",
                )}
              />
              <IconButton
                label={`Remove ${file.name}`}
                look="secondary"
                className="absolute -top-2 -right-2 size-6! rounded-full! bg-raised pointer-coarse:size-11!"
                onClick={() => remove(id)}
              >
                <X aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      {problems.map(({ id, message }) => (
        <p key={id} role="alert" className="px-2 py-1 text-sm text-danger">
          {message}
        </p>
      ))}
    </>
  );
}

function BlindNote({
  settings,
  switchTo: [seeing],
}: Pick<Attachments, "switchTo"> & Pick<ComposerProps, "settings">) {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-2 rounded-xl bg-warn-soft p-1 pl-3 text-sm">
      <span className="grow">{modelWords[settings.model].name} can't see images.</span>
      {seeing && (
        <Button onClick={() => changeSettings({ model: seeing })}>Switch to {modelWords[seeing].name}</Button>
      )}
    </div>
  );
}
