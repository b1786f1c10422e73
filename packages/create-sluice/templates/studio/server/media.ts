/** Models besides the chat models. The limits of their requests limit their price. */
export const media = {
  "gamma-image-5-0-260128": { "sequential_image_generation_options.max_images": 4 },
  "beta3.0-video": { "parameters.duration": 5, "parameters.resolution": ["720P"] },
};
