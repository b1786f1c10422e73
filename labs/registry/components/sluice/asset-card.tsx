"use client";

import { describeError, useAsset } from "@sluice/react";
import { Copy, LoaderCircle, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Button, IconButton, onPressOnce } from "@/components/sluice/button";
import { LinkedImage, MediaFrame } from "@/components/sluice/media-frame";
import { useMediaLink } from "@/components/sluice/media-link";
import { assetWords } from "@/components/sluice/media-words";
import { toast } from "@/components/sluice/toasts";

interface AssetCardProps {
  readonly name: string;
  /** The image: a data URI, or a link that the page may load. */
  readonly image: string;
  /** Id and URI at the gateway. Undefined before the response. */
  readonly handle: { readonly id: string; readonly uri: string } | undefined;
  /** Request of this page: in flight, or its error. Undefined after a reload. */
  readonly request: "sending" | { readonly error: unknown } | undefined;
  /** Registers the image again. */
  readonly onRetry: () => void;
  readonly onRemove: () => void;
  /** Actions of a ready asset. */
  readonly children?: ReactNode;
}

/** An image that is registered at the gateway, and its state. */
export function AssetCard(props: AssetCardProps) {
  const { handle, request } = props;
  if (handle) return <Registered {...props} handle={handle} />;
  if (request === "sending") return <Card {...props} state="sending" />;
  return <Unregistered {...props} error={request?.error} />;
}

type RegisteredProps = AssetCardProps & { readonly handle: NonNullable<AssetCardProps["handle"]> };

function Registered(props: RegisteredProps) {
  const { id, uri } = props.handle;
  const { data, error, asset, refetch } = useAsset({ assetId: id });
  const hasFailed = asset?.state === "failed";
  const state = data ? "ready" : hasFailed ? "failed" : error ? "unknown" : "preparing";
  const copy = async () => {
    await navigator.clipboard.writeText(uri);
    toast(assetWords.copied);
  };
  return (
    <Card
      {...props}
      state={state}
      text={error && (hasFailed ? assetWords.refused : describeError(error).hint)}
      actions={
        <>
          {data && props.children}
          {error && !hasFailed && <Button onClick={refetch}>{assetWords.check}</Button>}
          <span className="grow" />
          <IconButton label={assetWords.copy} onClick={() => void copy()}>
            <Copy aria-hidden />
          </IconButton>
        </>
      }
    />
  );
}

/** An image whose registration failed, or is unknown because the page was reloaded during the request. */
function Unregistered({ error, ...props }: AssetCardProps & { readonly error: unknown }) {
  const problem = error === undefined ? undefined : describeError(error);
  const mayBeBilled = problem?.billing !== "none";
  const text = problem ? `${problem.title}. ${problem.hint}` : assetWords.lost;
  return (
    <Card
      {...props}
      state="unsent"
      text={mayBeBilled ? `${text} ${assetWords.charged}` : text}
      actions={
        <>
          <Button {...onPressOnce(props.onRetry)}>
            {mayBeBilled ? assetWords.retryLost : assetWords.retry}
          </Button>
          <span className="grow" />
        </>
      }
    />
  );
}

interface CardProps extends AssetCardProps {
  readonly state: keyof typeof assetWords.states;
  /** Problem, in words for the user. */
  readonly text?: string | undefined;
  readonly actions?: ReactNode;
}

const tones = {
  sending: "info",
  preparing: "info",
  ready: "success",
  unsent: "danger",
  failed: "danger",
  unknown: "warn",
} as const;

function Card({ name, image, state, text, actions, onRemove }: CardProps) {
  const link = useMediaLink(image);
  return (
    <article aria-label={name} className="flex h-full flex-col overflow-hidden rounded-xl border bg-card">
      <div className="relative aspect-4/3 bg-secondary">
        <MediaFrame
          link={link}
          kind="preview"
          element={<LinkedImage link={link} src={image} alt="" className="size-full object-cover" />}
        />
      </div>
      <div className="flex grow flex-col gap-2 p-3">
        <p className="flex items-center gap-2 text-sm">
          <bdi className="min-w-0 grow truncate font-medium">{name}</bdi>
          <Badge role="status" tone={tones[state]}>
            {tones[state] === "info" && <LoaderCircle aria-hidden className="animate-spin" />}
            {assetWords.states[state]}
          </Badge>
        </p>
        {text && (
          <p dir="auto" role="alert" className="text-xs text-destructive">
            {text}
          </p>
        )}
        {state !== "sending" && (
          <div className="flex flex-wrap items-center gap-1">
            {actions}
            <IconButton label={assetWords.remove} onClick={onRemove}>
              <Trash2 aria-hidden />
            </IconButton>
          </div>
        )}
      </div>
    </article>
  );
}
