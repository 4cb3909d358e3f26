graph BasicBlock(self: module<crate::model::BasicBlock>, xs: tensor) {
  %downsample = get_attr[downsample](self) : option<module<crate::model::Downsample>>  @ src/model.rs:20 as downsample
  %skip = match(%downsample) : tensor  @ src/model.rs:20 {
    "Some(%0)" (d: module<crate::model::Downsample>) {
      %conv = get_attr[conv](d) : module<Conv2D>  @ src/model.rs:41 as downsample.conv
      %bn = get_attr[bn](d) : module<BatchNorm>  @ src/model.rs:41 as downsample.bn
      %conv_1 = call_module[Conv2D](%conv, xs) : tensor  @ src/model.rs:41 as downsample.conv
      %bn_1 = call_module[BatchNorm](%bn, %conv_1) : tensor  @ src/model.rs:41 as downsample.bn
      yield %bn_1
    }
    "None" {
      %xs_1 = shallow_clone(xs) : tensor  @ src/model.rs:20
      yield %xs_1
    }
  }
  %conv1 = get_attr[conv1](self) : module<Conv2D>  @ src/model.rs:21 as conv1
  %weight = get_attr[ws](%conv1) : tensor  @ src/model.rs:21 as conv1 by lower-modules
  %ys = convolution(xs, %weight, none, act="Relu") : tensor  @ src/model.rs:21 + src/model.rs:22 as conv1 + relu by lower-modules + fuse-epilogues
  %sum = add(%ys, %skip) : tensor  @ src/model.rs:23
  %out = relu(%sum) : tensor  @ src/model.rs:23 as relu
  yield %out
}
