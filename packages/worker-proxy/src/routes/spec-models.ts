// Written by `scripts/spec-models.ts` from the schemas and the models of @sluice/core: not changed by hand.

/** The models of chat: in each line the id, the largest `max_tokens`, and the fields of its requests. */
export const chatModels = `alpha-v4.1-flash|393216|model messages[role content[~ type text image_url{url@ detail}] name reasoning_content tool_call_id tool_calls[id type function{name arguments}]] thinking{type} reasoning_effort max_tokens response_format{type} stop[] stream stream_options{include_usage} temperature top_p tools[type function{name description parameters* strict}] tool_choice{~ type function{name}} frequency_penalty presence_penalty user_id
gamma-chat-1-6-251015|8192|model messages[role content[~ type text] name reasoning_content tool_call_id tool_calls[id type function{name arguments}]] max_tokens temperature top_p frequency_penalty presence_penalty stream stream_options{include_usage} stop
delta-5.3|131072|model messages[role content[~ type text] name reasoning_content tool_call_id tool_calls[id type function{name arguments}]] thinking{type} reasoning_effort max_tokens temperature top_p stop[] stream stream_options{include_usage} tools[type function{name description parameters* strict}] tool_choice{~ type function{name}}`;

/** The models of images: in each line the id, the largest `max_tokens`, and the fields of its requests. */
export const imageModels = `gamma-image-4-0-250828||model prompt image@[] sequential_image_generation sequential_image_generation_options{max_images} watermark seed logo_info{add_logo position language opacity} size
gamma-image-5-0-260128||model prompt image@[] sequential_image_generation sequential_image_generation_options{max_images} watermark seed logo_info{add_logo position language opacity} size`;

/** The models of videos: in each line the id, the largest `max_tokens`, and the fields of its requests. */
export const videoModels = `beta3.0-video||model input{prompt media[type url@]} parameters{resolution ratio duration audio prompt_extend seed watermark}
beta3.0-video-prime||model input{prompt media[type url@]} parameters{resolution ratio duration audio prompt_extend seed watermark}
gamma-video-1-5-pro-251215||model ratio generate_audio resolution duration seed watermark content[type text image_url{url@} role] camera_fixed
gamma-video-1-0-pro-fast-251015||model resolution duration seed watermark content[type text image_url{url@} role] camera_fixed ratio
gamma-video-2.0||model content[type text image_url{url$} role video_url{~$ url$} audio_url{~$ url$}] generate_audio ratio duration tools[type] watermark seed camera_fixed resolution return_last_frame
gamma-video-fast||model content[type text image_url{url$} role video_url{~$ url$} audio_url{~$ url$}] generate_audio ratio duration tools[type] watermark seed camera_fixed resolution`;

/** The models of assets: in each line the id, the largest `max_tokens`, and the fields of its requests. */
export const assetModels = `gamma-asset||model GroupId Name AssetType URL@`;
