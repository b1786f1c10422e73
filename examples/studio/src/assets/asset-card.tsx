import type { VideoModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { errorMessages, useAsset } from "@sluice/react";
import { Clapperboard, Copy, Image, LoaderCircle, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Button, IconButton } from "@/components/sluice/button";
import { LinkedImage, MediaFrame } from "@/components/sluice/media-frame";
import { useMediaLink } from "@/components/sluice/media-link";
import { useDescription } from "../errors.js";
import { focusPlace } from "../media/composer.js";
import { urlsOf, useImageForm, useVideoForm } from "../media/use-media-form.js";
import { ASSET_REFUSED, assetWords, NO_PREVIEW } from "../room-words.js";
import { openRoute } from "../rooms.js";
import { isLoadable } from "../server.js";
import { toast } from "../ui/popups.js";
import { dismiss, type RegisteredAsset, type Registration, register, registered } from "./registered.js";

/** An asset that was registered here, and if it can be used. */
export function AssetCard({ asset }: { readonly asset: RegisteredAsset }) {
  const { data, error, asset: seen, refetch } = useAsset({ assetId: asset.id });
  const images = useImageForm();
  const videos = useVideoForm();
  const { hint } = useDescription(error);
  const hasFailed = seen?.state === "failed";
  const useInImage = () => {
    const known = urlsOf(images.values, "image").filter((url) => url !== asset.picture);
    images.set("image", [...known, asset.picture]);
    openRoute({ room: "images" });
  };
  const useInVideo = () => {
    const known = urlsOf(videos.values, "reference_image").filter((url) => url !== asset.uri);
    const { first_frame: _, last_frame: __, ...values } = videos.values;
    videos.fill({
      model: takesAssets(videos.model) ? videos.model : "gamma-video-2.0",
      values: { ...values, reference_image: [...known, asset.uri] },
    });
    openRoute({ room: "videos" });
  };
  return (
    <Card name={asset.name} picture={asset.picture}>
      <p className="flex items-center gap-2">
        <span dir="auto" className="min-w-0 grow truncate text-sm font-medium">
          {asset.name}
        </span>
        <Chip isReady={data !== undefined} hasFailed={hasFailed} isUnknown={error !== undefined} />
      </p>
      {error && <p className="text-xs text-danger">{hasFailed ? ASSET_REFUSED : hint}</p>}
      <div className="flex flex-wrap items-center gap-1">
        {data && (
          <>
            <Button onClick={useInVideo}>
              <Clapperboard aria-hidden />
              Video
            </Button>
            <Button onClick={useInImage}>
              <Image aria-hidden />
              Image
            </Button>
          </>
        )}
        {error && !hasFailed && <Button onClick={refetch}>Check again</Button>}
        <span className="ml-auto flex">
          <IconButton label="Copy URI" onClick={() => void copy(asset.uri)}>
            <Copy aria-hidden />
          </IconButton>
          <IconButton
            label="Delete"
            onClick={({ currentTarget }) => {
              focusAfter(currentTarget);
              remove(asset);
            }}
          >
            <Trash2 aria-hidden />
          </IconButton>
        </span>
      </div>
    </Card>
  );
}

/** Here it is the group that a proxy does not allow. */
const messages = {
  ...errorMessages,
  forbidden: { title: "Not allowed", hint: "Use another group, or ask for access." },
};

/** A picture on its way to the gateway, or why it is not there. */
export function RegistrationCard({ registration }: { readonly registration: Registration }) {
  const { id, name, picture, groupId, state, error } = registration;
  const { title, hint, billing } = useDescription(error, { messages });
  return (
    <Card name={name} picture={picture}>
      <p className="flex items-center gap-2">
        <span dir="auto" className="min-w-0 grow truncate text-sm font-medium">
          {name}
        </span>
        {state === "sending" ? (
          <Badge role="status">
            <LoaderCircle className="animate-spin" aria-hidden />
            {assetWords("sending")}
          </Badge>
        ) : (
          <Badge tone="danger">{assetWords("unsent")}</Badge>
        )}
      </p>
      {state === "failed" && (
        <>
          <p role="alert" className="text-xs text-danger">
            {title}. {hint}
          </p>
          <div className="flex gap-1">
            <Button
              onClick={({ detail }) => {
                if (detail > 1) return;
                dismiss(id);
                void register(picture, name, groupId);
              }}
            >
              {billing === "maybe" ? "Retry anyway" : "Try again"}
            </Button>
            <Button
              look="quiet"
              onClick={({ currentTarget }) => {
                focusAfter(currentTarget);
                dismiss(id);
              }}
            >
              Dismiss
            </Button>
          </div>
        </>
      )}
    </Card>
  );
}

interface CardProps {
  readonly name: string;
  readonly picture: string;
  readonly children: ReactNode;
}

function Card({ name, picture, children }: CardProps) {
  const link = useMediaLink(picture);
  return (
    <article aria-label={name} className="flex h-full flex-col overflow-hidden rounded-xl border bg-raised">
      <div className="relative aspect-4/3 bg-sunken">
        {isLoadable(picture) ? (
          <MediaFrame
            link={link}
            kind="preview"
            element={<LinkedImage link={link} src={picture} alt="" className="size-full object-cover" />}
          />
        ) : (
          <p className="flex size-full items-center justify-center p-4 text-center text-sm text-balance text-muted">
            {NO_PREVIEW}
          </p>
        )}
      </div>
      <div className="flex grow flex-col gap-2 p-3">{children}</div>
    </article>
  );
}

interface ChipProps {
  readonly isReady: boolean;
  readonly hasFailed: boolean;
  readonly isUnknown: boolean;
}

function Chip({ isReady, hasFailed, isUnknown }: ChipProps) {
  if (isReady)
    return (
      <Badge role="status" tone="accent">
        {assetWords("ready")}
      </Badge>
    );
  if (isUnknown)
    return (
      <Badge role="status" tone="danger">
        {assetWords(hasFailed ? "failed" : "unknown")}
      </Badge>
    );
  return (
    <Badge role="status">
      <LoaderCircle className="animate-spin" aria-hidden />
      {assetWords("preparing")}
    </Badge>
  );
}

async function copy(uri: string): Promise<void> {
  await navigator.clipboard.writeText(uri);
  toast("URI copied");
}

/** Moves the focus from a card that goes away to the next one. */
function focusAfter(button: HTMLElement): void {
  const item = button.closest("li");
  const list = item?.parentElement;
  if (item && list) focusPlace(list, [...list.children].indexOf(item));
}

function remove(asset: RegisteredAsset): void {
  registered.remove(asset.id);
  toast("Asset deleted", { onUndo: () => registered.put(asset) });
}

function takesAssets(model: VideoModel): boolean {
  const { family } = models[model];
  return family === "2-0" || family === "fast";
}
