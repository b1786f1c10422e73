/** Label and hint of one field. */
interface FieldText {
  /** Label of one to three words. */
  readonly label: string;
  /** Sentence that helps to fill it in; empty where the label says it all. */
  readonly hint: string;
}

const plain = (label: string, hint = ""): FieldText => ({ label, hint });

/** Labels of all fields and choices. */
export const fieldLabels = {
  fields: {
    prompt: plain("Prompt", "Describe what you want to see."),
    thinking: plain("Thinking", "The model thinks before it responds."),
    reasoning_effort: plain("Effort", "More effort takes longer."),
    max_tokens: plain("Longest response", "Counted in tokens, which are parts of words."),
    temperature: plain("Randomness", "0 gives the most likely words."),
    top_p: plain("Word choice", "1 allows every word."),
    frequency_penalty: plain("Avoid repeats", "Above 0, fewer words come twice."),
    presence_penalty: plain("New topics", "Above 0, new topics come sooner."),
    stop: plain("Stop texts", "The response ends before one of them."),
    image: plain("Reference images", "The new image follows them."),
    size: plain("Size"),
    max_images: plain("Number of images"),
    seed: plain("Seed", "The same number gives a similar result."),
    watermark: plain("Watermark"),
    resolution: plain("Resolution"),
    ratio: plain("Shape"),
    duration: plain("Length"),
    audio: plain("Sound"),
    generate_audio: plain("Sound"),
    prompt_extend: plain("Improve prompt", "The service adds details to your prompt."),
    camera_fixed: plain("Still camera"),
    return_last_frame: plain("Return last frame", "You also get the last frame as an image."),
    web_search: plain("Web search", "The model looks things up first."),
    first_frame: plain("First frame"),
    last_frame: plain("Last frame"),
    reference_image: plain("Reference images"),
    reference_video: plain("Reference videos"),
    reference_audio: plain("Reference sounds"),
    file: plain("Document"),
    link: plain("Web page"),
  },
  choices: { low: "Low", high: "High", max: "Max", adaptive: "Fit to input" },
};

/** Name of a field of a form: the last part of the gateway's own name, or the role of a file. */
export type FieldName = keyof typeof fieldLabels.fields;
