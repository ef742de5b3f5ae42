// Runs a network that `export(..., file_format="PACKAGE")` has written. It needs PyTorch's C++
// library alone:
//
//     cmake -S . -B build -DCMAKE_PREFIX_PATH=$(python -c "import torch; print(torch.utils.cmake_prefix_path)")
//     cmake --build build && build/run net.pt2 4 16
//
// What follows the file are the sizes of its input, here a tensor of ones.

#include <iostream>
#include <string>
#include <vector>

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

int main(int count, char** words) {
  if (count < 3) {
    std::cerr << "run net.pt2 SIZE...\n";
    return 2;
  }
  std::vector<int64_t> sizes;
  for (int i = 2; i < count; ++i) sizes.push_back(std::stoll(words[i]));
  c10::InferenceMode without_gradients;
  torch::inductor::AOTIModelPackageLoader network(words[1]);
  for (const auto& answer : network.run({torch::ones(sizes)})) std::cout << answer << "\n";
}
