import { useStore } from "@nanostores/react";
import { createAsset, type VideoModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { checkMedia, toDataURI } from "@sluice/media";
import { Clapperboard, Upload } from "lucide-react";
import { atom } from "nanostores";
import { useRef, useState } from "react";
import { AssetCard } from "@/components/sluice/asset-card";
import { Refusals } from "@/components/sluice/attachments";
import { Button } from "@/components/sluice/button";
import { listURLs } from "@/components/sluice/form-fields";
import { quoteName } from "@/components/sluice/format";
import {
  createItemId,
  createStoredList,
  isStoredItem,
  type StoredItem,
} from "@/components/sluice/stored-list";
import { toast } from "@/components/sluice/toasts";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { client, storage } from "./client.js";
import { Examples, loadThumbnail, Page } from "./media.js";
import { openRoute } from "./rooms.js";
import { useRunningCode } from "./state.js";
import { useVideoForm } from "./videos-room.js";

/** An image for videos. It is stored before it is sent, because registering it may be billed. */
interface Asset extends StoredItem {
  readonly name: string;
  /** The image: a data URI. */
  readonly image: string;
  /** Id and URI at the gateway. Undefined before the response. */
  readonly handle?: { readonly id: string; readonly uri: string };
}

/** The assets of this browser. The gateway can't list assets. */
const list = createStoredList<Asset>({
  storage,
  name: "assets",
  isItem: (record): record is Asset => isStoredItem(record, "name", "image"),
});

/** Requests of this page that are in flight or failed. */
const requests = atom<ReadonlyMap<string, "sending" | { readonly error: unknown }>>(new Map());

/** Registers an image. The list has it before it is sent. */
async function register(name: string, image: string): Promise<void> {
  const asset: Asset = { id: createItemId(), at: Date.now(), name, image };
  list.put(asset);
  requests.set(new Map(requests.get()).set(asset.id, "sending"));
  try {
    const handle = await createAsset(client, {
      model: "gamma-asset",
      GroupId: "studio",
      Name: name,
      AssetType: "Image",
      URL: image,
    });
    list.put({ ...asset, handle });
    requests.set(new Map([...requests.get()].filter(([id]) => id !== asset.id)));
  } catch (error) {
    requests.set(new Map(requests.get()).set(asset.id, { error }));
  }
}

/** The room for images that several videos use. */
export function AssetsRoom() {
  const assets = list.useItems();
  const sent = useStore(requests);
  const [refusals, setRefusals] = useState<readonly string[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const videoForm = useVideoForm();
  const isSending = [...sent.values()].includes("sending");
  useLeaveWarning(isSending);
  useRunningCode(isSending && "await createAsset(");

  const addFiles = async (files: readonly File[]) => {
    const problems: string[] = [];
    for (const file of files)
      if ((await checkMedia([{ media: file, use: "chat_image" }])).length > 0)
        problems.push(`${quoteName(file.name)} is not an image.`);
      else void register(file.name, await toDataURI(file));
    setRefusals(problems);
  };
  const addToVideo = (uri: string) => {
    const { first_frame: _, last_frame: __, ...values } = videoForm.values;
    videoForm.fill({
      model: takesAssets(videoForm.model) ? videoForm.model : "gamma-video-2.0",
      values: { ...values, reference_image: [...listURLs(values, "reference_image"), uri] },
    });
    openRoute("videos");
  };

  return (
    <Page title="Assets" onDrop={(files) => void addFiles(files)}>
      <section aria-label="New asset" className="flex flex-col gap-4 rounded-2xl border bg-card p-4">
        <div className="flex flex-wrap items-center gap-3">
          <p className="grow text-sm text-muted-foreground">Add an image once. Use it in many videos.</p>
          <Button variant="primary" onClick={() => input.current?.click()}>
            <Upload aria-hidden />
            Choose images
          </Button>
          <input
            ref={input}
            type="file"
            hidden
            multiple
            accept="image/png,image/jpeg,image/webp"
            onChange={({ currentTarget }) => {
              void addFiles([...(currentTarget.files ?? [])]);
              currentTarget.value = "";
            }}
          />
        </div>
        <Refusals lines={refusals} onDismiss={() => setRefusals([])} />
      </section>
      {assets.length === 0 && (
        <Examples
          room="video"
          note="Add this image"
          onPick={(example) => void loadThumbnail(example).then((file) => addFiles([file]))}
        />
      )}
      <ul
        aria-label="Assets"
        className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,17rem),1fr))] gap-4"
      >
        {assets.map((asset) => (
          <li key={asset.id}>
            <AssetCard
              name={asset.name}
              image={asset.image}
              handle={asset.handle}
              request={sent.get(asset.id)}
              onRetry={() => {
                list.remove(asset.id);
                void register(asset.name, asset.image);
              }}
              onRemove={() => {
                list.remove(asset.id);
                toast("Asset deleted", { onUndo: () => list.put(asset) });
              }}
            >
              <Button onClick={() => asset.handle && addToVideo(asset.handle.uri)}>
                <Clapperboard aria-hidden />
                Video
              </Button>
            </AssetCard>
          </li>
        ))}
      </ul>
    </Page>
  );
}

function takesAssets(model: VideoModel): boolean {
  const { family } = models[model];
  return family === "2-0" || family === "fast";
}
