import type { useAttachments } from "@sluice/react/app";
import clsx from "clsx";
import { Clock, Paperclip, X } from "lucide-react";
import { type ReactNode, type RefObject, useRef } from "react";
import { MOST_FILES, Refusals } from "../media/refusals.js";
import { Button, IconButton, onPressOnce } from "../ui/button.js";
import type { Refused } from "../words.js";
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
  readonly onSendQueued: () => void;
  /** Menus beside the button that adds images. */
  readonly children?: ReactNode;
}

/** The place to write a message, with its images, and with the menus of the chat. */
export function Composer(props: ComposerProps) {
  const { draftKey, field, settings, attachments, isBusy, onSend, onStop } = props;
  const { images, problems, isPreparing, isBlind, inputProps } = attachments;
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
      onPaste={attachments.onPaste}
      before={<Queue {...props} />}
      above={
        <>
          <Previews attachments={attachments} />
          <Refusals
            // at once, however long each file takes to be read
            refused={isPreparing ? [] : problems.map(refusalOf)}
            onDismiss={() => {
              attachments.dismiss();
              field.current?.focus();
            }}
          />
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

function refusalOf({ problem, message }: Attachments["problems"][number]): Refused {
  return problem === "number" ? { reason: problem, most: MOST_FILES } : { reason: problem, text: message };
}

type QueueProps = Pick<ComposerProps, "queued" | "isBusy" | "onDequeue" | "onSendQueued">;

/** The messages that wait. After an error or a reload, the user sends them. */
function Queue({ queued, isBusy, onDequeue, onSendQueued }: QueueProps) {
  if (queued.length === 0) return null;
  return (
    <ul aria-label="Queued messages" className="flex max-h-[20dvh] flex-wrap gap-2 overflow-y-auto">
      {queued.map((text, index) => (
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
      {!isBusy && (
        <li>
          <Button {...onPressOnce(onSendQueued)}>Send now</Button>
        </li>
      )}
    </ul>
  );
}

function Previews({ attachments: { attachments, remove } }: { readonly attachments: Attachments }) {
  if (attachments.length === 0) return null;
  return (
    <ul aria-label="Images to send" className="flex flex-wrap gap-2 p-2">
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
