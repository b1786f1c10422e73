import type { useAttachments } from "@sluice/react/app";
import clsx from "clsx";
import { Clock, Paperclip, X } from "lucide-react";
import { type ReactNode, type RefObject, useRef } from "react";
import { Button, IconButton } from "../ui/button.js";
import { type ChatSettings, changeSettings, modelWords } from "./chat.js";
import { MessageBox } from "./message-box.js";

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

/** The place to write a message, with its images, and with the menus of the chat. */
export function Composer(props: ComposerProps) {
  const { draftKey, field, settings, attachments, isBusy, queued, onSend, onStop, onDequeue } = props;
  const { images, isPreparing, isBlind, inputProps, onPaste } = attachments;
  const picker = useRef<HTMLInputElement>(null);

  async function send(text: string): Promise<boolean> {
    const files = attachments.attachments.map(({ file }) => file);
    attachments.clear();
    const isSent = await onSend(text, images);
    if (!isSent) attachments.add(files);
    return isSent;
  }

  return (
    <MessageBox
      draftKey={draftKey}
      field={field}
      onSend={send}
      isBusy={isBusy}
      onStop={onStop}
      hasFiles={images.length > 0}
      isBlocked={isPreparing || isBlind}
      onPaste={onPaste}
      before={<Queue texts={queued} onDequeue={onDequeue} />}
      above={
        <>
          <Previews attachments={attachments} />
          {isBlind && <BlindNote settings={settings} switchTo={attachments.switchTo} />}
        </>
      }
    >
      <input {...inputProps} ref={picker} aria-label="Images" className="hidden" />
      <IconButton label="Add images" className="short:order-1" onClick={() => picker.current?.click()}>
        <Paperclip aria-hidden />
      </IconButton>
      <div className="flex min-w-0 grow items-center gap-1 short:order-3 short:grow-0">{props.children}</div>
    </MessageBox>
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
