use tch::*;

mod policy;

fn main() {
    let vs = nn::VarStore::new(Device::Cpu);
    let policy = policy::Policy::new(&vs.root());
    println!("{:?}", policy::Act::forward(&policy, &Tensor::zeros([1, 4], kind::FLOAT_CPU)));
}
